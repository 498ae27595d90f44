// Pieces of HTML. Whatever comes from outside goes through escaped().
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hub {

/// Safe as text and as a quoted attribute: & < > " ' as references; control characters and bytes
/// that are no UTF-8 as U+FFFD.
std::string escaped(std::string_view text);
/// "macro_f1" is "macro f1" to a person.
std::string spoken(std::string name);
/// `data:` address of a PNG, JPEG, GIF or WebP picture; empty when the bytes are none of these.
std::string picture_address(std::string_view bytes);
/// A table in a box that scrolls by itself: the first row is the head, the first cell of each row
/// its header, the others numbers. Cells are text, escaped here.
std::string table_html(std::string_view label, const std::vector<std::vector<std::string>>& rows);

/// The style sheet of the report.
extern const std::string_view report_style;

}  // namespace hub
