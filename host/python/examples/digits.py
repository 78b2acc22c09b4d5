"""A convolutional network learns to read handwritten digits: digits.py [FOLDER of digits_*.npy]"""

import sys
from pathlib import Path
import numpy as np
import tenon
from tenon import nn, ops

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[3] / "tests" / "data"
images = np.load(folder / "digits_images.npy").astype("float32").reshape(-1, 1, 8, 8) / 8 - 1
labels = np.load(folder / "digits_labels.npy")

graph = tenon.Graph()
image, label = graph.input("image", "float32", (None, 1, 8, 8)), graph.input("label", "uint8", (None,))
h = nn.batch_norm(nn.conv(image, 32, 3, pad="same", bias=False), activation="relu")
h = nn.max_pool(nn.batch_norm(nn.conv(h, 64, 3, pad="same", bias=False), activation="relu"), 2)
scores = nn.dense(nn.dropout(nn.flatten(h), 0.5), 10, name="scores")
graph.outputs(loss=ops.softmax_cross_entropy(scores, label), scores=scores)

x, goal = images[:1500], (scores, label)
moved = [(x + np.roll(x, by, axis)) / 2 for by, axis in ((0, 2), (-1, 2), (-1, 3), (1, 2), (1, 3))]
train, test = (np.concatenate(moved), np.tile(labels[:1500], 5)), (images[1500:], labels[1500:])
run = tenon.train(graph, train, validate=test, accuracy=goal, learning_rate=3e-3, schedule="cosine", epochs=12)
print(run, run.confusion(), sep="\n")
run.graph.save("digits.tenon")
