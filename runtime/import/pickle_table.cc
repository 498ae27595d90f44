// Pickled dictionaries of plain data, as Python programs keep their vocabularies in.
#include "base/error.h"
#include "base/text.h"
#include "runtime/import/import.h"
#include "runtime/import/pickle.h"

namespace hub {
namespace {

template <class T>
T as(const PyValue& value, const char* what) {
  if (const T* t = std::get_if<T>(&value)) return *t;
  fail(Code::refused, what, " is wanted where something else is");
}

}  // namespace

std::map<std::string, PickledItem, std::less<>> read_pickled_table(const MappedFile& file) {
  return within("pickled table", [&] {
    size_t at = 0;
    const Pickle pickle(file.bytes(), at);
    if (at != file.size()) fail(Code::refused, "the file goes on behind it");
    std::map<std::string, PickledItem, std::less<>> table;
    // Each text is stored once; files that name one list over and over are made for that.
    size_t copied = 0;
    const size_t most = 32 * file.size();
    const auto text = [&](const PyValue& value) {
      const std::string& t = *as<const std::string*>(value, "a text");
      copied += t.size() + sizeof t;
      if (copied > most) fail(Code::refused, "its texts are far longer than its file");
      if (!valid_utf8(t)) fail(Code::refused, "a text is not UTF-8");
      return t;
    };
    for (const auto& [key, value] : as<PyDict*>(pickle.value(), "a dictionary")->items) {
      if (const auto* number = std::get_if<int64_t>(&value)) {
        table.insert_or_assign(text(key), *number);
        continue;
      }
      std::vector<std::string> texts;
      for (const PyValue& one : as<PyList*>(value, "a whole number or a list")->items)
        texts.push_back(text(one));
      table.insert_or_assign(text(key), std::move(texts));
    }
    return table;
  });
}

}  // namespace hub
