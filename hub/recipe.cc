#include "hub/recipe.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "hub/fields.h"
#include "hub/manifest.h"

namespace hub {
namespace {

constexpr size_t max_packages = 64, max_files = 10'000;
constexpr uint64_t max_package_size = uint64_t{8} << 30;

/// Letters, digits and "._-" only: it becomes part of a command that a person may paste into a
/// shell.
std::string plain_word(Fields& f, std::string_view key) {
  std::string word = f.text(key);
  const bool plain =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
      word.npos;
  if (word.empty() || word.size() > 128 || !plain || word.front() == '-') {
    fail(Code::refused, f.where(), ": '", key, "' holds more than letters, digits, '.', '_', '-'");
  }
  return word;
}

RecipePackage read_package(const json& item, std::string where) {
  Fields f(item, std::move(where));
  RecipePackage package = within(f.where(), [&] {
    return RecipePackage{plain_word(f, "name"), plain_word(f, "version"),
                         RelPath::parse(f.text("file")), Digest::parse(f.text("sha256")),
                         f.size("size", max_package_size)};
  });
  f.done();
  return package;
}

}  // namespace

std::string RecipePackage::command() const {
  return concat("pip download --no-deps ", name, "==", version);
}

Recipe Recipe::parse(std::string_view text) {
  const json document = parse_json(text);
  Fields f(document, "recipe");
  if (f.integer("schema", 0, 1'000'000) != 1) {
    fail(Code::unsupported, "the recipe has a schema other than 1: a newer hub is needed");
  }
  Recipe recipe;
  std::set<std::string> unused;
  for (const json& item : f.list("packages", max_packages)) {
    recipe.packages.push_back(read_package(item, concat("packages[", recipe.packages.size(), "]")));
    const std::string& name = recipe.packages.back().name;
    if (!unused.insert(name).second) fail(Code::refused, "package '", name, "' is listed twice");
  }
  const std::set<std::string> known = unused;
  for (const json& item : f.list("files", max_files)) {
    Fields g(item, concat("files[", recipe.files.size(), "]"));
    const RelPath path = within(g.where(), [&] { return RelPath::parse(g.text("path")); });
    const bool beside = g.has("beside");
    RecipeFile file{beside ? "" : g.text("package"), within(g.where(), [&] {
                      return RelPath::parse(g.text(beside ? "beside" : "member"));
                    })};
    g.done();
    if (!beside && !known.contains(file.package)) {
      fail(Code::refused, g.where(), ": '", file.package, "' is not among the packages");
    }
    unused.erase(file.package);
    if (!recipe.files.emplace(path, std::move(file)).second) {
      fail(Code::refused, g.where(), ": '", path.str(), "' is listed twice");
    }
  }
  f.done();
  if (!unused.empty()) fail(Code::refused, "package '", *unused.begin(), "' is used by no file");
  return recipe;
}

}  // namespace hub
