// Rows for optimizer updates. The numbers come from the formulas of torch.optim (lamb: You et al.
// 2019) computed with NumPy in float64.
#include <cmath>

#include "tests/runtime/op_cases.h"

namespace hub {
std::vector<OpCase> optimizer_cases() {
  const Tensor p = f({3}, {1, -2, 0.5F});
  const Tensor g = f({3}, {0.5F, 1, -3});
  const Tensor v = f({3}, {0.1F, -0.2F, 0.3F});
  const Tensor m = f({3}, {0.1F, -0.1F, 0.3F});
  const Tensor s = f({3}, {0.04F, 0.09F, 0.01F});
  const Tensor d = f({3}, {0.01F, 0.02F, 0.03F});
  // A rate of 0.05 and a gradient taken twice.
  auto update = [&](std::string_view op, const std::vector<std::pair<std::string, Attr>>& more,
                    const std::vector<Tensor>& slots, std::vector<Tensor> out) {
    OpCase c{op, {{"rate_factor", 0.5}}, {p, g, f({1}, {0.1F}), f({1}, {2})}, std::move(out)};
    for (const auto& [name, value] : more) c.attrs.set(name, value);
    c.in.insert(c.in.end(), slots.begin(), slots.end());
    return c;
  };
  const std::pair<std::string, Attr> decay{"weight_decay", 0.1};
  const std::pair<std::string, Attr> nesterov{"nesterov", int64_t{1}};
  const std::pair<std::string, Attr> decoupled{"decoupled", int64_t{1}};
  const Tensor third = i({3});
  std::vector<OpCase> c = {
      update("sgd", {decay}, {}, {f({3}, {0.945F, -2.09F, 0.7975F})}),
      update("momentum", {decay}, {v},
             {f({3}, {0.9405F, -2.081F, 0.784F}), f({3}, {1.19F, 1.62F, -5.68F})}),
      update("momentum", {decay, nesterov, {"momentum", 0.8}}, {v},
             {f({3}, {0.8978F, -2.1556F, 1.0259F}), f({3}, {1.18F, 1.64F, -5.71F})}),
      update("adam", {decay}, {m, s, third},
             {f({3}, {0.990044027F, -2.00297848F, 0.515407617F}), f({3}, {0.2F, 0.09F, -0.325F}),
              f({3}, {0.04117F, 0.09315F, 0.0453925F})}),
      update("adam", {decay, decoupled, {"beta1", 0.8}, {"beta2", 0.99}, {"epsilon", 1e-3}},
             {m, s, third},
             {f({3}, {0.972817169F, -2.00571862F, 0.52536389F}), f({3}, {0.28F, 0.32F, -0.96F}),
              f({3}, {0.0496F, 0.1291F, 0.3699F})}),
      update("lamb", {decay}, {m, s, third},
             {f({3}, {0.919087629F, -1.96438659F, 0.572868877F}), f({3}, {0.19F, 0.11F, -0.33F}),
              f({3}, {0.04096F, 0.09391F, 0.04599F})}),
      update("rmsprop", {decay}, {s},
             {f({3}, {0.758110287F, -2.25819888F, 0.993152248F}),
              f({3}, {0.0517F, 0.1215F, 0.363925F})}),
      update("adagrad", {decay}, {s},
             {f({3}, {0.950806504F, -2.0493197F, 0.54999294F}), f({3}, {1.25F, 3.33F, 35.4125F})}),
      update(
          "adadelta", {decay}, {s, d},
          {f({3}, {0.986118602F, -2.02000048F, 0.527351836F}), f({3}, {0.157F, 0.405F, 3.54925F}),
           f({3}, {0.016707728F, 0.0340007605F, 0.0569249166F})}),
      {"ema", {{"decay", 0.9}}, {p, g}, {f({3}, {0.95F, -1.7F, 0.15F})}},
      {"commit", {}, {p, g, f(0)}, {g}},
      {"commit", {}, {p, g, f(std::nanf(""))}, {p}},
      {"square_sums", {}, {p, f({2, 2}, {1, 2, 3, 4}), f({0}, {})}, {f({3}, {5.25F, 30, 0})}},
      {"square_sums", {}, {noise({3, 257}, 1), noise({70, 501}, 2)}, {}},
  };
  // A step with a NaN is not applied.
  for (size_t k = 0, rows = c.size(); k < rows; ++k) {
    if (c[k].in.size() < 4) continue;
    OpCase skipped = c[k];
    skipped.in[3] = f({1}, {std::nanf("")});
    skipped.out[0] = p;
    for (size_t slot = 1; slot < skipped.out.size(); ++slot)
      skipped.out[slot] = skipped.in[3 + slot];
    c.push_back(std::move(skipped));
  }
  return c;
}

}  // namespace hub
