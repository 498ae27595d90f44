// einsum(x…) equation "ij,jk->ik": products of elements over every assignment of the labels, summed
// over those that are not in the output. Labels are letters; … ("...") stands for any dimensions in
// front, broadcast; a label twice in one input is its diagonal; a dimension of 1 is broadcast.
// einsum_grad(dy, x…) equation, input: the gradient of input number `input`.
#include <map>

#include "runtime/ops/grad.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

constexpr int64_t most_products = int64_t{1} << 40;
using Kinds = decltype(Floats{} + Types<int32_t, int64_t, uint32_t, uint64_t>{});

struct Terms {
  std::vector<std::string> in;
  std::string out;
  bool implicit = false;  ///< no "->": the output has the labels that occur once, in order
};

/// Letters and at most one dot in each term, which stands for "...".
std::string term(std::string_view text, std::string_view equation) {
  std::string labels;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool letter = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
    if (letter) {
      labels += text[i];
    } else if (text.substr(i, 3) == "..." && labels.find('.') == labels.npos) {
      labels += '.';
      i += 2;
    } else {
      fail(Code::refused, "the equation is '", equation, "': '", text, "' is no list of labels");
    }
  }
  return labels;
}

Terms terms_of(const Attrs& attrs) {
  const std::string& equation = attrs.s("equation");
  std::string text;
  for (char c : equation)
    if (c != ' ') text += c;
  Terms t;
  const size_t arrow = text.find("->");
  t.implicit = arrow == text.npos;
  const std::string_view left = std::string_view(text).substr(0, arrow);
  for (size_t at = 0;;) {
    const size_t comma = left.find(',', at);
    t.in.push_back(term(left.substr(at, comma == left.npos ? comma : comma - at), equation));
    if (comma == left.npos) break;
    at = comma + 1;
  }
  if (!t.implicit) {
    t.out = term(std::string_view(text).substr(arrow + 2), equation);
    return t;
  }
  std::map<char, int> times;
  for (const std::string& s : t.in)
    for (char c : s) ++times[c];
  if (times.contains('.')) t.out += '.';
  for (const auto& [c, n] : times)
    if (c != '.' && n == 1) t.out += c;
  return t;
}

/// The loop: the output's labels first, then those that are summed.
struct Loop {
  Shape sizes;
  size_t kept = 0;          ///< of `sizes`
  std::vector<Strides> in;  ///< for each input
  Shape out;
};

/// Each label, and each dimension behind the dots ('\1' is the last), is a dimension of the loop.
Loop loop_of(const Attrs& attrs, const std::vector<Shape>& shapes) {
  const Terms t = terms_of(attrs);
  if (t.in.size() != shapes.size())
    fail(Code::refused, "the equation is for ", t.in.size(), " inputs, there are ", shapes.size());
  std::vector<std::string> labels;
  std::map<char, int64_t> size;
  char dots = 0;
  for (size_t k = 0; k < shapes.size(); ++k) {
    std::string own;
    const auto rank = static_cast<int64_t>(shapes[k].rank());
    const auto letters =
        static_cast<int64_t>(t.in[k].size()) - (t.in[k].find('.') != t.in[k].npos ? 1 : 0);
    for (char c : t.in[k]) {
      if (c != '.') {
        own += c;
        continue;
      }
      const auto many = static_cast<char>(std::max<int64_t>(rank - letters, 0));
      dots = std::max(dots, many);
      for (char d = many; d > 0; --d) own += d;
    }
    if (static_cast<int64_t>(own.size()) != rank)
      fail(Code::refused, "'", t.in[k], "' in the equation does not fit ", shapes[k].str());
    for (size_t d = 0; d < own.size(); ++d) {
      int64_t& n = size.try_emplace(own[d], 1).first->second;
      if (n != shapes[k][d] && n != 1 && shapes[k][d] != 1)
        fail(Code::refused, "label '", own[d] < ' ' ? '.' : own[d], "' is both ", n, " and ",
             shapes[k][d]);
      if (n == 1) n = shapes[k][d];
    }
    labels.push_back(std::move(own));
  }
  std::string order;
  for (char c : t.out) {
    if (c == '.') {
      for (char d = dots; d > 0; --d) order += d;
    } else if (!size.contains(c) || order.find(c) != order.npos) {
      fail(Code::refused, "label '", c, "' of the output is ",
           size.contains(c) ? "there twice" : "in no input");
    } else {
      order += c;
    }
  }
  Loop loop;
  loop.kept = order.size();
  for (const auto& [c, n] : size)
    if (order.find(c) == order.npos) order += c;
  for (size_t d = 0; d < order.size(); ++d) {
    loop.sizes.push_back(size.at(order[d]));
    if (d < loop.kept) loop.out.push_back(loop.sizes[d]);
  }
  for (size_t k = 0; k < shapes.size(); ++k) {
    const Strides own = strides_of(shapes[k]);
    Strides s{};
    for (size_t d = 0; d < labels[k].size(); ++d)
      if (shapes[k][d] != 1) s[order.find(labels[k][d])] += own[d];
    loop.in.push_back(s);
  }
  return loop;
}

Loop loop_of(const Infer& in, size_t first) {
  std::vector<Shape> shapes;
  for (size_t k = first; k < in.size(); ++k) {
    check_same_type(in, first, k);
    shapes.push_back(in.in(k).shape);
  }
  Loop loop = loop_of(in.attrs, shapes);
  if (loop.sizes.numel() > most_products)
    fail(Code::refused, "the equation asks for ", loop.sizes.numel(), " products");
  return loop;
}
Loop loop_of(const Call& call, size_t first) {
  std::vector<Shape> shapes;
  for (size_t k = first; k < call.in.size(); ++k) shapes.push_back(call.x(k).shape());
  return loop_of(call.attrs, shapes);
}

/// Calls f(output element) at the begin of each sum and g(offsets in the inputs) for each of its
/// products.
template <class F, class G>
void each_product(const Loop& loop, F f, G g) {
  std::vector<int64_t> at(loop.in.size()), index(loop.sizes.rank());
  const int64_t outputs = loop.sizes.numel(0, loop.kept);
  const int64_t sums = loop.sizes.numel(loop.kept, loop.sizes.rank());
  if (sums == 0) return;
  for (int64_t o = 0; o < outputs; ++o) {
    f(o);
    for (int64_t s = 0; s < sums; ++s) {
      g(at);
      for (size_t d = loop.sizes.rank(); d-- > 0;) {
        const bool wraps = ++index[d] == loop.sizes[d];
        for (size_t k = 0; k < at.size(); ++k)
          at[k] += (wraps ? 1 - loop.sizes[d] : 1) * loop.in[k][d];
        if (!wraps) break;
        index[d] = 0;
      }
    }
  }
}

std::vector<Spec> infer_einsum(const Infer& in) {
  check_type(in, 0, Kinds{});
  const Loop loop = loop_of(in, 0);
  return {{in.in(0).dtype, loop.out}};
}

void forward_einsum(const Call& call) {
  const Loop loop = loop_of(call, 0);
  dispatch(Kinds{}, call.y().dtype(), [&]<class T>() {
    using W = std::conditional_t<is_float<T>, double, uint64_t>;
    std::vector<const T*> x;
    for (const Tensor* t : call.in) x.push_back(t->data<T>());
    std::vector<W> sums(static_cast<size_t>(call.y().numel()));
    W* sum = nullptr;
    each_product(
        loop, [&](int64_t o) { sum = &sums[static_cast<size_t>(o)]; },
        [&](const std::vector<int64_t>& at) {
          W product = 1;
          for (size_t k = 0; k < at.size(); ++k)
            product *= static_cast<W>(static_cast<wide_t<T>>(x[k][at[k]]));
          *sum += product;
        });
    for (size_t i = 0; i < sums.size(); ++i)
      call.y().data<T>()[i] = static_cast<T>(static_cast<wide_t<T>>(sums[i]));
  });
}

void grad_einsum(Grad& g) {
  Vars in{g.dy()};
  for (size_t k = 0; k < g.size(); ++k) in.push_back(g.x(k));
  Attrs attrs = g.attrs;
  for (size_t k = 0; k < g.size(); ++k) {
    attrs.set("input", static_cast<int64_t>(k));
    if (g.wants(k)) g.dx(k, apply("einsum_grad", in, attrs));
  }
}

std::vector<Spec> infer_einsum_grad(const Infer& in) {
  check_type(in, 0, Floats{});
  check_same_type(in, 0, 1);
  const Loop loop = loop_of(in, 1);
  const int64_t k = in.attrs.i("input");
  if (k < 0 || k + 1 >= static_cast<int64_t>(in.size())) fail(Code::refused, "'input' is ", k);
  if (in.in(0).shape != loop.out)
    fail(Code::refused, "the gradient is ", in.in(0).str(), ", wanted ", loop.out.str());
  return {in.in(static_cast<size_t>(k) + 1)};
}

void forward_einsum_grad(const Call& call) {
  const Loop loop = loop_of(call, 1);
  const auto input = static_cast<size_t>(call.attrs.i("input"));
  dispatch(Floats{}, call.y().dtype(), [&]<class T>() {
    std::vector<const T*> x;
    for (size_t k = 1; k < call.in.size(); ++k) x.push_back(call.x(k).data<T>());
    std::vector<double> dx(static_cast<size_t>(call.y().numel()));
    double dy = 0;
    each_product(
        loop, [&](int64_t o) { dy = static_cast<double>(call.x(0).data<T>()[o]); },
        [&](const std::vector<int64_t>& at) {
          double product = dy;
          for (size_t k = 0; k < at.size(); ++k)
            if (k != input) product *= static_cast<double>(x[k][at[k]]);
          dx[static_cast<size_t>(at[input])] += product;
        });
    for (size_t i = 0; i < dx.size(); ++i)
      call.y().data<T>()[i] = static_cast<T>(static_cast<wide_t<T>>(dx[i]));
  });
}

// ---- import rules ----

/// "ij,jk->ik" as a product of matrices where the equation is one: two inputs, every label once in
/// each, and as many in front, of rows, of columns and of sums as matmul takes.
Var as_matmul(const Terms& t, const Vars& x) {
  if (t.in.size() != 2 || x.size() != 2 || t.in[0].find('.') != std::string::npos ||
      t.in[1].find('.') != std::string::npos)
    return {};
  std::string batch, rows, columns, sums;
  for (size_t k : {0, 1}) {
    for (char c : t.in[k]) {
      if (std::count(t.in[k].begin(), t.in[k].end(), c) > 1) return {};
      const bool other = t.in[1 - k].find(c) != std::string::npos;
      const bool kept = t.out.find(c) != std::string::npos;
      if (!other && !kept) return {};
      if (other && k == 1) continue;
      (other ? (kept ? batch : sums) : k == 0 ? rows : columns) += c;
    }
  }
  if (rows.size() != 1 || columns.size() != 1 || sums.size() != 1) return {};
  auto turned = [](Var v, const std::string& from, const std::string& to) {
    if (from == to) return v;
    std::vector<int64_t> perm;
    for (char c : to) perm.push_back(static_cast<int64_t>(from.find(c)));
    return transpose(v, perm);
  };
  const Var y = matmul(turned(x[0], t.in[0], batch + rows + sums),
                       turned(x[1], t.in[1], batch + sums + columns));
  return turned(y, batch + rows + columns, t.out);
}

void onnx_einsum(ImportNode& n) {
  Vars x;
  for (size_t k = 0; k < n.inputs(); ++k) x.push_back(n.need(k));
  const Attrs attrs{{"equation", n.attrs.s("equation")}};
  const Var product = as_matmul(terms_of(attrs), x);
  n.out(0, product ? product : apply("einsum", x, attrs));
}

void paddle_einsum(ImportNode& n) {
  n.need("Operands");
  const Attrs attrs{{"equation", n.attrs.s("equation")}};
  const Vars x = n.all("Operands");
  const Var product = as_matmul(terms_of(attrs), x);
  n.out("Out", product ? product : apply("einsum", x, attrs));
}

}  // namespace

extern const std::vector<OpDef> einsum_ops = {
    {.name = "einsum",
     .max_inputs = -1,
     .infer = infer_einsum,
     .forward = forward_einsum,
     .grad = grad_einsum,
     .imports = {{"paddle:einsum", paddle_einsum}, {"onnx:Einsum", onnx_einsum}}},
    {.name = "einsum_grad",
     .min_inputs = 2,
     .max_inputs = -1,
     .infer = infer_einsum_grad,
     .forward = forward_einsum_grad,
     .no_grad = "second derivatives of einsum are not written"}};

}  // namespace hub
