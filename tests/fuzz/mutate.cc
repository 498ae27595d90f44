#include "tests/fuzz/mutate.h"

#include <google/protobuf/stubs/logging.h>

#include <cmath>
#include <limits>
#include <random>

namespace hub {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

class Mutator {
 public:
  Mutator(Message& message, const std::vector<std::string>& words, unsigned seed)
      : root_(message), words_(words), random_(seed) {}

  void change() {
    collect_all();
    Message& m = *messages_[pick(messages_.size())];
    const auto* type = m.GetDescriptor();
    if (type->field_count() == 0) return;
    const auto* field =
        type->field(static_cast<int>(pick(static_cast<size_t>(type->field_count()))));
    if (field->is_repeated())
      change_list(m, *field);
    else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      change_message(m, *field);
    else if (pick(8) == 0)
      m.GetReflection()->ClearField(&m, field);
    else
      change_value(m, *field, -1);
  }

 private:
  size_t pick(size_t n) { return random_() % n; }

  /// To be called after every change: it may end messages that were collected.
  void collect_all() {
    messages_.clear();
    strings_.clear();
    collect(root_);
  }

  void collect(Message& m) {
    messages_.push_back(&m);
    const auto* reflection = m.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(m, &fields);
    for (const auto* f : fields) {
      const int n = f->is_repeated() ? reflection->FieldSize(m, f) : 1;
      for (int i = 0; i < n; ++i) {
        if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
          collect(f->is_repeated() ? *reflection->MutableRepeatedMessage(&m, f, i)
                                   : *reflection->MutableMessage(&m, f));
        else if (f->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
          strings_.push_back(f->is_repeated() ? reflection->GetRepeatedString(m, f, i)
                                              : reflection->GetString(m, f));
      }
    }
  }

  void change_list(Message& m, const FieldDescriptor& f) {
    const auto* reflection = m.GetReflection();
    const int n = reflection->FieldSize(m, &f);
    const bool messages = f.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    const int at = n > 0 ? static_cast<int>(pick(static_cast<size_t>(n))) : 0;
    switch (n == 0 ? 0 : pick(messages ? 4 : 6)) {
      case 0:
        if (messages)
          copy_into(*reflection->AddMessage(&m, &f), m);
        else
          add_value(m, f);
        break;
      case 1:
        reflection->SwapElements(&m, &f, at, n - 1);
        reflection->RemoveLast(&m, &f);
        break;
      case 2: reflection->SwapElements(&m, &f, at, n - 1); break;
      default:
        if (messages)
          copy_into(*reflection->MutableRepeatedMessage(&m, &f, at), m);
        else
          change_value(m, f, at);
    }
  }

  void change_message(Message& m, const FieldDescriptor& f) {
    if (pick(4) == 0)
      m.GetReflection()->ClearField(&m, &f);
    else
      copy_into(*m.GetReflection()->MutableMessage(&m, &f), m);
  }

  /// Another message of that type, if there is one that does not hold this.
  void copy_into(Message& to, const Message& holder) {
    collect_all();
    for (int tries = 0; tries < 8; ++tries) {
      const Message& from = *messages_[pick(messages_.size())];
      if (&from == &holder || &from == &to || from.GetDescriptor() != to.GetDescriptor()) continue;
      const std::string bytes = from.SerializePartialAsString();
      to.ParsePartialFromString(bytes);
      return;
    }
  }

  int64_t integer(int64_t old) {
    constexpr int64_t likely[] = {0,
                                  1,
                                  -1,
                                  2,
                                  3,
                                  4,
                                  7,
                                  8,
                                  16,
                                  255,
                                  1 << 16,
                                  INT32_MAX,
                                  INT32_MIN,
                                  INT64_MAX,
                                  INT64_MIN,
                                  int64_t{1} << 32,
                                  int64_t{1} << 62};
    switch (pick(4)) {
      case 0: return static_cast<int64_t>(static_cast<uint64_t>(old) + 1);
      case 1: return static_cast<int64_t>(static_cast<uint64_t>(old) - 1);
      case 2: return static_cast<int64_t>(pick(24)) - 2;
      default: return likely[pick(std::size(likely))];
    }
  }

  double real() {
    constexpr double likely[] = {0,    1,    -1,    0.5,      2,         1e-3,
                                 1e10, 1e30, -1e30, INFINITY, -INFINITY, NAN};
    return likely[pick(std::size(likely))];
  }

  std::string text(std::string old) {
    switch (pick(4)) {
      case 0: return strings_.empty() ? std::string() : strings_[pick(strings_.size())];
      case 1: return words_.empty() ? std::string() : words_[pick(words_.size())];
      case 2: {
        if (old.empty()) return old + 'x';
        old[pick(old.size())] = static_cast<char>(pick(256));
        return old;
      }
      default: {
        const size_t keep = old.empty() ? 0 : pick(old.size());
        return pick(2) == 0 ? old.substr(0, keep) : old + old.substr(keep);
      }
    }
  }

  void add_value(Message& m, const FieldDescriptor& f) {
    const auto* r = m.GetReflection();
    switch (f.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return r->AddInt32(&m, &f, static_cast<int32_t>(integer(1)));
      case FieldDescriptor::CPPTYPE_INT64: return r->AddInt64(&m, &f, integer(1));
      case FieldDescriptor::CPPTYPE_UINT32:
        return r->AddUInt32(&m, &f, static_cast<uint32_t>(integer(1)));
      case FieldDescriptor::CPPTYPE_UINT64:
        return r->AddUInt64(&m, &f, static_cast<uint64_t>(integer(1)));
      case FieldDescriptor::CPPTYPE_DOUBLE: return r->AddDouble(&m, &f, real());
      case FieldDescriptor::CPPTYPE_FLOAT: return r->AddFloat(&m, &f, static_cast<float>(real()));
      case FieldDescriptor::CPPTYPE_BOOL: return r->AddBool(&m, &f, pick(2) == 0);
      case FieldDescriptor::CPPTYPE_STRING: return r->AddString(&m, &f, text({}));
      default: return;
    }
  }

  /// Element `at` of a list, or the only one.
  void change_value(Message& m, const FieldDescriptor& f, int at) {
    const auto* r = m.GetReflection();
    const bool list = at >= 0;
    switch (f.cpp_type()) {
#define HUB_CHANGE(KIND, Name, expression)                                               \
  case FieldDescriptor::CPPTYPE_##KIND: {                                                \
    const auto old = list ? r->GetRepeated##Name(m, &f, at) : r->Get##Name(m, &f);       \
    static_cast<void>(old);                                                              \
    const auto value = expression;                                                       \
    return list ? r->SetRepeated##Name(&m, &f, at, value) : r->Set##Name(&m, &f, value); \
  }
      HUB_CHANGE(INT32, Int32, static_cast<int32_t>(integer(old)))
      HUB_CHANGE(INT64, Int64, integer(old))
      HUB_CHANGE(UINT32, UInt32, static_cast<uint32_t>(integer(old)))
      HUB_CHANGE(UINT64, UInt64, static_cast<uint64_t>(integer(static_cast<int64_t>(old))))
      HUB_CHANGE(DOUBLE, Double, real())
      HUB_CHANGE(FLOAT, Float, static_cast<float>(real()))
      HUB_CHANGE(BOOL, Bool, !old)
      HUB_CHANGE(STRING, String, text(old))
#undef HUB_CHANGE
      default: return;
    }
  }

  Message& root_;
  const std::vector<std::string>& words_;
  std::minstd_rand random_;
  std::vector<Message*> messages_;  ///< all there are, the root first
  std::vector<std::string> strings_;
};

/// It would report every name that is no UTF-8.
[[maybe_unused]] const auto log_before = google::protobuf::SetLogHandler(nullptr);

}  // namespace

void mutate(Message& message, const std::vector<std::string>& words, unsigned seed) {
  Mutator mutator(message, words, seed);
  for (unsigned n = 1 + seed / 7 % 4; n > 0; --n) mutator.change();
}

}  // namespace hub
