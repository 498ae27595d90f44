#include "finetune/report/html.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace hub {
namespace {

std::string base64(std::string_view bytes) {
  static constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k)
      three = three << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k)
      text += i + k > bytes.size() ? '=' : digits[three >> (18 - 6 * k) & 63];
  }
  return text;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (char32_t c : decode_utf8(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: append_utf8(out, (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ? 0xfffd : c);
    }
  }
  return out;
}

std::string spoken(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string picture_address(std::string_view bytes) {
  std::string_view kind;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) kind = "png";
  if (bytes.starts_with("\xff\xd8\xff")) kind = "jpeg";
  if (bytes.starts_with("GIF8")) kind = "gif";
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP")) kind = "webp";
  return kind.empty() ? "" : concat("data:image/", kind, ";base64,", base64(bytes));
}

std::string table_html(std::string_view label, const std::vector<std::vector<std::string>>& rows) {
  std::string out = concat("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"",
                           escaped(label), "\"><table><thead><tr>");
  for (const std::string& cell : rows[0])
    out += concat("<th scope=\"col\">", escaped(cell), "</th>");
  out += "</tr></thead><tbody>\n";
  for (size_t r = 1; r < rows.size(); ++r) {
    out += concat("<tr><th scope=\"row\">", escaped(rows[r][0]), "</th>");
    for (size_t c = 1; c < rows[r].size(); ++c) out += concat("<td>", escaped(rows[r][c]), "</td>");
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace hub
