// docs/op.md lists every operator on floats that has no gradient, with the reason; the list there
// is the registry's.
#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/file.h"
#include "runtime/op.h"

namespace hub {
namespace {

TEST_CASE("docs/op.md lists the operators without gradient") {
  std::vector<std::pair<std::string, std::string>> reasons;  // with their operators, in their order
  for (const OpDef* op : all_ops()) {
    if (op->no_grad.empty()) continue;
    auto it = std::find_if(reasons.begin(), reasons.end(),
                           [&](const auto& r) { return r.first == op->no_grad; });
    if (it == reasons.end()) it = reasons.insert(it, {std::string(op->no_grad), ""});
    it->second += concat(it->second.empty() ? "`" : ", `", op->name, "`");
  }
  std::string table = "| operators without gradient | why |\n|---|---|\n";
  for (const auto& [reason, names] : reasons) table += concat("| ", names, " | ", reason, " |\n");
  const std::string docs = read_file(HUB_SOURCE_DIR "/docs/op.md");
  const size_t begin = docs.find("| operators without gradient |");
  REQUIRE(begin != docs.npos);
  CHECK(docs.substr(begin, docs.find("\n\n", begin) + 1 - begin) == table);
}

}  // namespace
}  // namespace hub
