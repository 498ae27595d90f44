// regex_full_match(x): whether `pattern` matches each string from its beginning to its end.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <memory>

#include "base/text.h"
#include "runtime/ops/rules.h"

namespace hub {
namespace {

/// Steps of one match; patterns that try everything end there.
constexpr uint32_t most_steps = 10'000'000;

template <class T, auto release>
using Owned = std::unique_ptr<T, decltype([](T* p) { release(p); })>;
using Code8 = Owned<pcre2_code, pcre2_code_free_8>;

std::string message_of(int error) {
  unsigned char text[128];
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

Code8 compile(const Attrs& attrs) {
  const std::string& pattern = attrs.s("pattern");
  int error = 0;
  size_t at = 0;
  Code8 code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                           PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED, &error, &at, nullptr));
  if (!code)
    fail(Code::refused, "pattern '", printable(pattern.substr(0, 80)), "': ", message_of(error),
         " at byte ", at);
  return code;
}

std::vector<Spec> infer_match(const Infer& in) {
  check_type(in, 0, Types<std::string>{});
  compile(in.attrs);
  return {{DType::boolean, in.in(0).shape}};
}

void forward_match(const Call& call) {
  const Code8 code = compile(call.attrs);
  const Owned<pcre2_match_data, pcre2_match_data_free_8> match(
      pcre2_match_data_create_from_pattern(code.get(), nullptr));
  const Owned<pcre2_match_context, pcre2_match_context_free_8> context(
      pcre2_match_context_create(nullptr));
  if (!match || !context) fail(Code::refused, "no memory for a match");
  pcre2_set_match_limit(context.get(), most_steps);
  pcre2_set_heap_limit(context.get(), 1 << 16);  // KiB
  bool* y = call.y().data<bool>();
  for (const std::string& text : call.x(0).values<std::string>()) {
    const int found = pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), 0, 0, match.get(), context.get());
    if (found < 0 && found != PCRE2_ERROR_NOMATCH)
      fail(Code::refused, "pattern '", printable(call.attrs.s("pattern").substr(0, 80)), "' on '",
           printable(text.substr(0, 80)), "': ", message_of(found));
    *y++ = found >= 0;
  }
}

}  // namespace

extern const OpDef regex_full_match_op = {
    .name = "regex_full_match",
    .infer = infer_match,
    .forward = forward_match,
    .strings = true,
    .imports = {{"onnx:RegexFullMatch", onnx_same<"regex_full_match">}},
};

}  // namespace hub
