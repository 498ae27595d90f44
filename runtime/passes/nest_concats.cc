// A concatenation that begins with all that an earlier one joined begins with its result. In
// densely connected networks each layer reads all earlier ones: so each of them can be written
// once, where it stays (plan.cc).
#include <map>

#include "runtime/op.h"
#include "runtime/passes/passes.h"

namespace hub {

void nest_concats(Program& program) {
  std::map<std::pair<int64_t, std::vector<ValueId>>, ValueId> joined;  // by axis and inputs
  for (OpCall& call : program.ops) {
    if (!is(call, "concat")) continue;
    const int64_t axis = call.attrs.i("axis");
    const std::vector<ValueId> all = call.in;
    for (size_t n = all.size() - 1; n >= 2; --n) {
      const auto it = joined.find({axis, {all.begin(), all.begin() + static_cast<int64_t>(n)}});
      if (it == joined.end()) continue;
      call.in.assign(all.begin() + static_cast<int64_t>(n), all.end());
      call.in.insert(call.in.begin(), it->second);
      break;
    }
    joined.try_emplace({axis, all}, call.out[0]);
  }
}

}  // namespace hub
