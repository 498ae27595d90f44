// Numbers in English texts written out as words, as the package g2p-en does it with inflect:
// "$2.50" two dollars, fifty cents; "1984" nineteen eighty-four; "21st" twenty-first.
#pragma once

#include <string>
#include <string_view>

namespace hub {

/// Throws Code::unsupported for a number of more than 36 digits.
std::string with_numbers_as_words(std::string_view text);

}  // namespace hub
