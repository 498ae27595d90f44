#include "runtime/ops/objects.h"

#include <algorithm>

#include "base/error.h"
#include "runtime/budget.h"

namespace hub {
namespace {

constexpr size_t most_items = size_t{1} << 16;

bool is_list(const Tensor& t) { return t.dtype() == DType::list; }

}  // namespace

Tensor charged(const Tensor& t, size_t bytes) {
  std::shared_ptr<void> charge = charge_memory(bytes);
  if (!charge) return t;
  const auto both = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<void>>>(
      t.owner(), std::move(charge));
  return {t.dtype(), t.shape(), std::shared_ptr<const void>(both, t.raw()), t.raw()};
}

size_t longest(const Tensor& strings) {
  size_t most = 0;
  for (const std::string& s : strings.values<std::string>()) most = std::max(most, s.size());
  return most;
}

Tensor list_of(std::vector<Tensor> items) {
  if (items.size() > most_items)
    fail(Code::refused, "a list of ", items.size(), " items; the most is ", most_items);
  // Of lists all items are lists, so the first one tells how deep each is.
  if (std::ranges::any_of(items, is_list)) {
    for (const Tensor& t : items) {
      if (!is_list(t)) fail(Code::unsupported, "a list of lists and ", t.spec().str());
      if (!t.items().empty() && is_list(t.items()[0]))
        fail(Code::unsupported, "lists in lists of lists");
    }
  }
  const size_t bytes = items.size() * sizeof(Tensor);
  return charged(Tensor::list(std::move(items)), bytes);
}

}  // namespace hub
