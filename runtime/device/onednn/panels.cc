#include "runtime/device/onednn/panels.h"

#include <cstring>

#include "runtime/device/onednn/kernels_gemm.h"
#include "runtime/device/onednn/kernels_winograd.h"

namespace hub::onednn {
namespace {

constexpr std::string_view panels_mark = "panels", winograd_mark = "winograd";

std::string marked(std::string_view mark, const std::vector<int64_t>& numbers) {
  return std::string(mark).append(reinterpret_cast<const char*>(numbers.data()),
                                  numbers.size() * sizeof(int64_t));
}

std::vector<int64_t> numbers_behind(std::string_view mark, std::string_view saved) {
  saved.remove_prefix(mark.size());
  std::vector<int64_t> numbers(saved.size() / sizeof(int64_t));
  std::memcpy(numbers.data(), saved.data(), numbers.size() * sizeof(int64_t));
  return numbers;
}

int64_t whole(int64_t channels, int64_t block) { return (channels + block - 1) / block * block; }

Panels winograd_panels(int64_t in, int64_t out) {
  std::vector<Panels::Piece> pieces;
  for (int64_t t = 0; t < 36; ++t) pieces.push_back({t * in * out, out, 1});
  return {in, out, std::move(pieces)};
}

}  // namespace

bool Packing::same(const Layout& other) const {
  return dynamic_cast<const Packing*>(&other) != nullptr && other.save() == save();
}

LayoutPtr Packing::restore(std::string_view saved) {
  constexpr int64_t most = int64_t{1} << 24;
  const auto sane = [](int64_t k, int64_t n) { return k > 0 && n > 0 && k < most && n < most; };
  if (saved.starts_with(panels_mark)) {
    const auto numbers = numbers_behind(panels_mark, saved);
    if (numbers.size() < 6 || numbers.size() % 3 != 0 || !sane(numbers[1], numbers[2]) ||
        numbers[0] != panel_width(numbers[2]))
      return nullptr;
    std::vector<Panels::Piece> pieces;
    for (size_t i = 3; i < numbers.size(); i += 3)
      pieces.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
    return std::make_shared<Panels>(numbers[1], numbers[2], std::move(pieces));
  }
  if (saved.starts_with(winograd_mark)) {
    const auto numbers = numbers_behind(winograd_mark, saved);
    if (numbers.size() != 4 || !sane(numbers[1], numbers[2]) || numbers[3] < 1 || numbers[3] > 64 ||
        numbers[0] != panel_width(whole(numbers[2], numbers[3])))
      return nullptr;
    return std::make_shared<WinogradWeights>(numbers[1], numbers[2], numbers[3]);
  }
  return nullptr;
}

Panels::Panels(int64_t k, int64_t n, std::vector<Piece> pieces)
    : k_(k), n_(n), piece_((packed_size(k, n) + 15) / 16 * 16), pieces_(std::move(pieces)) {}

size_t Panels::bytes() const {
  return pieces_.size() * static_cast<size_t>(piece_) * sizeof(float);
}

std::string Panels::save() const {
  std::vector<int64_t> numbers{panel_width(n_), k_, n_};
  for (const Piece& p : pieces_) numbers.insert(numbers.end(), {p.start, p.row, p.column});
  return marked(panels_mark, numbers);
}

void Panels::pack(const float* plain, float* packed) const {
  for (const Piece& p : pieces_) {
    pack_panels(plain + p.start, k_, n_, p.row, p.column, packed);
    packed += piece_;
  }
}

void Panels::unpack(const float* packed, float* plain) const {
  for (const Piece& p : pieces_) {
    unpack_panels(packed, k_, n_, p.row, p.column, plain + p.start);
    packed += piece_;
  }
}

WinogradWeights::WinogradWeights(int64_t in, int64_t out, int64_t block)
    : in_(in),
      out_(out),
      block_(block),
      panels_(winograd_panels(whole(in, block), whole(out, block))) {}

std::string WinogradWeights::save() const {
  return marked(winograd_mark, {panel_width(whole(out_, block_)), in_, out_, block_});
}

void WinogradWeights::pack(const float* plain, float* packed) const {
  const int64_t in = whole(in_, block_), out = whole(out_, block_);
  std::vector<float> u(static_cast<size_t>(36 * in * out));
  winograd_weights(plain, out_, in_, u.data(), out, in);
  panels_.pack(u.data(), packed);
}

void WinogradWeights::unpack(const float* packed, float* plain) const {
  const int64_t in = whole(in_, block_), out = whole(out_, block_);
  std::vector<float> u(static_cast<size_t>(36 * in * out));
  panels_.unpack(packed, u.data());
  winograd_weights_back(u.data(), out, in, plain, out_, in_);
}

}  // namespace hub::onednn
