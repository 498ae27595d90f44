#include "runtime/attrs.h"

#include "base/error.h"

namespace hub {
namespace {

[[noreturn]] void missing(std::string_view name) {
  fail(Code::refused, "attribute '", name, "' is missing");
}
[[noreturn]] void wrong(std::string_view name, std::string_view wanted) {
  fail(Code::refused, "attribute '", name, "' is not ", wanted);
}

}  // namespace

void Attrs::erase(std::string_view name) {
  if (auto it = items_.find(name); it != items_.end()) items_.erase(it);
}

const Attr* Attrs::find(std::string_view name) const {
  auto it = items_.find(name);
  return it == items_.end() ? nullptr : &it->second;
}

int64_t Attrs::i(std::string_view name) const {
  const Attr* a = find(name);
  if (a == nullptr) missing(name);
  const auto* v = std::get_if<int64_t>(a);
  if (v == nullptr) wrong(name, "an integer");
  return *v;
}
int64_t Attrs::i(std::string_view name, int64_t fallback) const {
  return has(name) ? i(name) : fallback;
}

double Attrs::f(std::string_view name) const {
  const Attr* a = find(name);
  if (a == nullptr) missing(name);
  if (const auto* v = std::get_if<double>(a)) return *v;
  if (const auto* v = std::get_if<int64_t>(a)) return static_cast<double>(*v);
  wrong(name, "a number");
}
double Attrs::f(std::string_view name, double fallback) const {
  return has(name) ? f(name) : fallback;
}

const std::string& Attrs::s(std::string_view name) const {
  const Attr* a = find(name);
  if (a == nullptr) missing(name);
  const auto* v = std::get_if<std::string>(a);
  if (v == nullptr) wrong(name, "a string");
  return *v;
}
std::string Attrs::s(std::string_view name, std::string_view fallback) const {
  return has(name) ? s(name) : std::string(fallback);
}

std::vector<int64_t> Attrs::ints(std::string_view name) const {
  const Attr* a = find(name);
  if (a == nullptr) return {};
  if (const auto* v = std::get_if<std::vector<int64_t>>(a)) return *v;
  if (const auto* v = std::get_if<int64_t>(a)) return {*v};
  wrong(name, "a list of integers");
}

std::vector<double> Attrs::floats(std::string_view name) const {
  const Attr* a = find(name);
  if (a == nullptr) return {};
  if (const auto* v = std::get_if<std::vector<double>>(a)) return *v;
  if (const auto* v = std::get_if<std::vector<int64_t>>(a)) return {v->begin(), v->end()};
  wrong(name, "a list of numbers");
}

std::vector<std::string> Attrs::strings(std::string_view name) const {
  const Attr* a = find(name);
  if (a == nullptr) return {};
  const auto* v = std::get_if<std::vector<std::string>>(a);
  if (v == nullptr) wrong(name, "a list of strings");
  return *v;
}

const BlockPtr& Attrs::block(std::string_view name) const {
  const Attr* a = find(name);
  if (a == nullptr) missing(name);
  const auto* v = std::get_if<BlockPtr>(a);
  if (v == nullptr || *v == nullptr) wrong(name, "a block");
  return *v;
}

const Tensor& Attrs::tensor(std::string_view name) const {
  const Attr* a = find(name);
  if (a == nullptr) missing(name);
  const auto* v = std::get_if<Tensor>(a);
  if (v == nullptr) wrong(name, "a tensor");
  return *v;
}

}  // namespace hub
