#include "cli/source.h"

#include "base/text.h"

namespace hub {

std::optional<Request> module_request(const std::string& word) {
  const std::string_view name = std::string_view(word).substr(0, word.find_first_of("@="));
  if (name.find('/') != std::string_view::npos || name.find('.') != std::string_view::npos)
    return {};
  return Request::parse(word);
}

}  // namespace hub
