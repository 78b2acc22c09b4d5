// One sum, mean or extreme of all processes' tensors.
#pragma once
#include <tenon/elementwise/convert.hpp>
#include <tenon/elementwise/for_each.hpp>
#include <type_traits>

#include "collective.hpp"

struct AllReduce : Collective {
  enum class Order { tree, library };
  Reduction reduction = Reduction::sum;
  Order order = Order::tree;
  std::int64_t lanes = 0, root = -1;
  bool background = false;

  static constexpr void describe(auto& op) {
    op.doc("the sum, mean, maximum or minimum of what all processes have, element by element, with the same bits on each of them");
    op.types(tenon::numeric);
    op.input("x", "any shape, the same in all processes");
    op.output("y", "same shape");
    op.inplace("x", "y");
    op.param("reduction", &AllReduce::reduction, "how elements are joined")
        .one_of({{"sum", Reduction::sum}, {"mean", Reduction::mean}, {"max", Reduction::max}, {"min", Reduction::min}});
    op.param("order", &AllReduce::order,
             "tree: the sum of neighbours, then of neighbouring sums, whatever the machine and the library; library: as the library likes")
        .one_of({{"tree", Order::tree}, {"library", Order::library}});
    op.param("lanes", &AllReduce::lanes,
             "of what the tree is: each process has the sum of some of this many parts, as LaneOwners::even() of the SDK deals them. "
             "0: each process has one. With fewer lanes than processes, the last ones add nothing and get the result")
        .at_least(0);
    op.param("root", &AllReduce::root, "the rank in its group that gets the result; all others get zeros. -1: all get it").at_least(-1);
    op.param("background", &AllReduce::background, "the process computes meanwhile: waiting for others leaves it the processor");
    describe_group(op);
    op.example({{"x", {2, 3}}});
  }

  void configure() {
    if (lanes > 0 && group > 0) throw tenon::Error(tenon::ErrorKind::parameter, "lanes are dealt to all processes: leave out group");
    if (lanes > 0 && reduction == Reduction::mean)
      throw tenon::Error(tenon::ErrorKind::parameter, "with lanes, a mean is not that of the processes: divide the sum by what you need");
  }

  void infer(tenon::Infer& io) const { io.require_same_shape("x", "y"); }
  std::size_t workspace(const tenon::Infer& io) const {
    return group_size() == 1 ? 0 : static_cast<std::size_t>(io.input(0).shape.size()) * tenon::size_of(io.input(0).dtype);
  }

  /// The number of processes is not known here: other ones may run the graph.
  void gradient(tenon::Gradient& g) const {
    auto dy = g.output_grad(0);
    if (root >= 0)  // what root does with the result counts, for all
      dy = g.add("tenon.broadcast", {dy}, {{"root", root}, {"group", group}, {"strided", strided}, {"timeout", timeout}});
    else
      dy = sum(g, dy, reduction == Reduction::mean ? "mean" : "sum");
    if (root >= 0 && reduction == Reduction::mean) dy = g.add("tenon.div", {dy, sum(g, g.ones_like(dy))});
    if (reduction == Reduction::max || reduction == Reduction::min) {  // those that are the extreme share it
      const auto x = g.input("x");
      const auto extreme =
          g.add("tenon.all_reduce", {x},
                {{"reduction", reduction == Reduction::max ? "max" : "min"}, {"group", group}, {"strided", strided}, {"timeout", timeout}});
      const auto is_it = g.add("tenon.where", {g.add("tenon.equal", {x, extreme}), g.ones_like(x), g.zeros_like(x)});
      dy = g.add("tenon.mul", {is_it, g.add("tenon.div", {dy, sum(g, is_it)})});
    }
    if (lanes > 0) {  // processes without one add nothing
      const auto ranks = g.add("tenon.cast", {g.add("tenon.ranks", {}, {{"timeout", timeout}})}, {{"dtype", "float32"}});
      const auto rank = g.add("tenon.squeeze", {g.add("tenon.slice", {ranks}, {{"begin", tenon::Ints{0}}, {"end", tenon::Ints{1}}})});
      const auto has_lane = g.add("tenon.less", {rank, g.add("tenon.fill_like", {rank}, {{"value", static_cast<double>(lanes)}})});
      dy = g.add("tenon.where", {has_lane, dy, g.zeros_like(dy)});
    }
    g.set_input_grad(0, dy);
  }

  void forward(const tenon::Call& call) const { run(call, Alone::get()); }

 protected:
  void run(const tenon::Call& call, Peers& peers) const {
    const auto group = group_of(peers);
    const bool gets_result = root < 0 || named_rank("root", root, group.size) == group.rank;
    tenon::visit<tenon::numeric>(call.input_type(0).dtype, [&]<class T>() {
      const auto x = call.input<T>(0);
      const auto y = call.output<T>(0);
      if (y.data() != x.data()) std::copy_n(x.data(), x.size(), y.data());
      if (group.size > 1) reduce<T>(call, group, y.data(), call.workspace<T>(static_cast<std::size_t>(y.size())), y.size());
      if (!gets_result) std::fill_n(y.data(), y.size(), T(0.F));
    });
  }

  enum class Gets { all, own_part };

  /// In place; scratch has as many elements. Where each process gets its own part, of equal ones, the others hold anything.
  template <class T>
  void reduce(const tenon::Call& call, const Group& group, T* y, T* scratch, std::int64_t count, Gets gets = Gets::all) const {
    auto wait = patience(call);
    wait.sleeps = background;
    if (order == Order::library && group.is_whole() && group.peers.reduce(y, count, tenon::dtype_of<T>, reduction, wait)) return;
    const auto all = lanes == 0 ? group.size : lanes;
    const int adding = static_cast<int>(std::min<std::int64_t>(all, group.size));
    const auto owners = tenon::LaneOwners::even(all, adding);
    const int tag = tag_of({1, static_cast<int>(tenon::dtype_of<T>), count, static_cast<int>(reduction), all});
    const auto exchange = [&](std::span<const comm::Message> messages) {
      send_messages(group, messages, reinterpret_cast<std::byte*>(y), reinterpret_cast<std::byte*>(scratch), sizeof(T), tag, wait);
    };
    const auto add = [&](std::int64_t to, std::int64_t from, std::int64_t n, bool is_left) {
      join(call, y + to, scratch + from, n, is_left);
    };
    constexpr std::int64_t short_bytes = 65536;
    if (group.rank < adding) {
      const comm::TreePlan plan(owners, all, group.rank, count);
      if (count * static_cast<std::int64_t>(sizeof(T)) < short_bytes) {
        comm::reduce_whole(plan, group.rank, count, exchange, add);
      } else if (gets == Gets::own_part) {
        comm::reduce_to_parts(plan, group.rank, group.size, count, exchange, add);
      } else {
        comm::reduce_by_parts(plan, exchange, add);
      }
    }
    exchange(comm::to_idle(group.rank, adding, group.size, count));
    if (reduction == Reduction::mean)
      each(call, y, y, count, [n = group.size](T value, T) {
        using Number = std::conditional_t<std::is_integral_v<T>, std::int64_t, std::conditional_t<sizeof(T) == 2, float, T>>;
        return static_cast<T>(static_cast<Number>(value) / static_cast<Number>(n));
      });
  }

 private:
  tenon::Gradient::Value sum(tenon::Gradient& g, tenon::Gradient::Value of, const char* how = "sum") const {
    return g.add("tenon.all_reduce", {of},
                 {{"reduction", how},
                  {"order", order == Order::tree ? "tree" : "library"},
                  {"group", group},
                  {"strided", strided},
                  {"timeout", timeout}});
  }

  template <class T>
  void join(const tenon::Call& call, T* to, const T* from, std::int64_t count, bool is_left) const {
    const auto all = [&](const auto& function) {
      if (is_left) return each(call, to, from, count, function);
      each(call, to, from, count, [&](T own, T other) { return function(other, own); });
    };
    switch (reduction) {
      case Reduction::sum:
      case Reduction::mean:
        return all([](T left, T right) {
          if constexpr (std::is_integral_v<T>)  // what does not fit wraps around
            return static_cast<T>(static_cast<std::make_unsigned_t<T>>(left) + static_cast<std::make_unsigned_t<T>>(right));
          else
            return static_cast<T>(left + right);
        });
      case Reduction::max:
        return all([](T left, T right) { return left > right || left != left ? left : right; });
      case Reduction::min:
        return all([](T left, T right) { return left < right || left != left ? left : right; });
    }
  }

  template <class T, class Function>
  static void each(const tenon::Call& call, T* to, const T* from, std::int64_t count, const Function& function) {
    call.parallel_for(count, 65536, [=](std::int64_t begin, std::int64_t end) {
      tenon::elementwise::for_each(end - begin, [=](std::int64_t at) { to[begin + at] = function(to[begin + at], from[begin + at]); });
    });
  }
};
