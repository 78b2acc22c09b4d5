// The networks that Pisarchyk and Lee planned (2020), with the layers and shapes of their papers,
// batch size 1.
#pragma once
#include "layers.hpp"

/// Howard et al., 2017.
inline Layers mobilenet_v1(tenon::Host& host) {
  Layers net(host, 224);
  auto x = net.layer6(net.image, 32, {3, 3, 2});
  const std::int64_t blocks[][2] = {{64, 1},  {128, 2},  {128, 1}, {256, 2}, {256, 1},
                                    {512, 2}, {512, 1},  {512, 1}, {512, 1}, {512, 1},
                                    {512, 1}, {1024, 2}, {1024, 1}};
  for (const auto& [filters, stride] : blocks) x = net.separable(x, filters, stride);
  net.classify(x);
  return net;
}

/// Sandler et al., 2018. For a stride below 32, dilated filters keep the size from there on.
inline tenon::Value mobilenet_v2_features(Layers& net, std::int64_t largest_stride) {
  auto x = net.layer6(net.image, 32, {3, 3, 2});
  std::int64_t reached = 2, dilate = 1;
  const std::int64_t stages[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                    {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  for (const auto& [expand, filters, count, first_stride] : stages) {
    for (std::int64_t i = 0; i < count; ++i) {
      auto stride = i == 0 ? first_stride : 1;
      const bool dilated = stride == 2 && reached == largest_stride;
      if (dilated) stride = 1;
      reached *= stride;
      const auto in = x;
      const auto inside = expand * net.channels(in);
      if (expand > 1) x = net.layer6(x, inside, {1, 1});
      x = net.layer6(x, inside, {3, 3, stride, dilate}, inside);
      x = net.normalized(x, filters, {1, 1});
      if (stride == 1 && net.channels(in) == filters) x = net.graph.add("add", {in, x});
      if (dilated) dilate *= 2;
    }
  }
  return x;
}

inline Layers mobilenet_v2(tenon::Host& host) {
  Layers net(host, 224);
  net.classify(net.layer6(mobilenet_v2_features(net, 32), 1280, {1, 1}));
  return net;
}

/// Chen et al., 2017, on MobileNet v2 with output stride 8.
inline Layers deeplab_v3(tenon::Host& host) {
  Layers net(host, 257);
  const auto features = mobilenet_v2_features(net, 8);
  const auto size = net.size(features);
  std::vector<tenon::Value> parts{net.layer(features, 256, {1, 1})};
  for (const std::int64_t rate : {12, 24, 36})
    parts.push_back(net.layer(features, 256, {3, 3, 1, rate}));
  const auto whole = net.layer(net.graph.add("global_avg_pool", {features}), 256, {1, 1});
  parts.push_back(net.graph.add("broadcast_to", {whole}, {{"shape", Numbers{1, 256, size, size}}}));
  const auto classes = net.convolution(net.layer(net.concat(parts), 256, {1, 1}), 21, {1, 1});
  net.graph.output("scores", net.graph.udf(ResizeBilinear{{}, 257, 257}, {classes}, "scores"));
  return net;
}

/// He et al., 2015.
inline Layers resnet_50(tenon::Host& host) {
  Layers net(host, 224);
  auto x = net.max_pool(net.layer(net.image, 64, {7, 7, 2}), 1);
  const std::int64_t stages[][2] = {{64, 3}, {128, 4}, {256, 6}, {512, 3}};
  for (const auto& [filters, count] : stages) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto stride = i == 0 && filters > 64 ? 2 : 1;
      const auto in = i == 0 ? net.normalized(x, 4 * filters, {1, 1, stride}) : x;
      x = net.layer(net.layer(x, filters, {1, 1}), filters, {3, 3, stride});
      x = net.graph.add("relu",
                        {net.graph.add("add", {net.normalized(x, 4 * filters, {1, 1}), in})});
    }
  }
  net.classify(x);
  return net;
}

/// Szegedy et al., 2015.
inline Layers inception_v3(tenon::Host& host) {
  Layers net(host, 299);
  const auto layer = [&](tenon::Value x, std::int64_t filters, Filters shape) {
    return net.layer(x, filters, shape);
  };
  const Filters one{1, 1}, three{3, 3}, halving{3, 3, 2, 1, false};
  auto x = layer(layer(layer(net.image, 32, halving), 32, {3, 3, 1, 1, false}), 64, three);
  x = net.max_pool(layer(layer(net.max_pool(x, 0), 80, one), 192, {3, 3, 1, 1, false}), 0);
  for (const std::int64_t pooled : {32, 64, 64})
    x = net.concat({layer(x, 64, one), layer(layer(x, 48, one), 64, {5, 5}),
                    layer(layer(layer(x, 64, one), 96, three), 96, three),
                    layer(net.avg_pool(x), pooled, one)});
  x = net.concat({layer(x, 384, halving), layer(layer(layer(x, 64, one), 96, three), 96, halving),
                  net.max_pool(x, 0)});
  const Filters wide{1, 7}, high{7, 1};
  for (const std::int64_t inside : {128, 160, 160, 192}) {
    const auto short_way = layer(layer(layer(x, inside, one), inside, wide), 192, high);
    auto long_way = layer(layer(layer(x, inside, one), inside, high), inside, wide);
    long_way = layer(layer(long_way, inside, high), 192, wide);
    x = net.concat({layer(x, 192, one), short_way, long_way, layer(net.avg_pool(x), 192, one)});
  }
  x = net.concat({layer(layer(x, 192, one), 320, halving),
                  layer(layer(layer(layer(x, 192, one), 192, wide), 192, high), 192, halving),
                  net.max_pool(x, 0)});
  for (int i = 0; i < 2; ++i) {
    const auto middle = layer(x, 384, one), deep = layer(layer(x, 448, one), 384, three);
    x = net.concat({layer(x, 320, one), layer(middle, 384, {1, 3}), layer(middle, 384, {3, 1}),
                    layer(deep, 384, {1, 3}), layer(deep, 384, {3, 1}),
                    layer(net.avg_pool(x), 192, one)});
  }
  net.classify(x);
  return net;
}

inline constexpr struct {
  const char* name;
  Layers (*make)(tenon::Host&);
} published_networks[] = {{"MobileNet v1", mobilenet_v1},
                          {"MobileNet v2", mobilenet_v2},
                          {"ResNet-50", resnet_50},
                          {"Inception v3", inception_v3},
                          {"DeepLab v3", deeplab_v3}};
