// SHA-256: the digest as a value that can only be well formed, and the streaming computation.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hub {

/// A SHA-256 digest: exactly 64 hexadecimal digits, kept in lower case. No path or URL is built
/// from anything else.
class Digest {
 public:
  /// Accepts 64 hex digits of either case, with or without "sha256:" in front; throws Code::refused
  /// otherwise.
  static Digest parse(std::string_view text);
  const std::string& hex() const { return hex_; }
  auto operator<=>(const Digest&) const = default;

 private:
  friend class Sha256;
  explicit Digest(std::string hex) : hex_(std::move(hex)) {}
  std::string hex_;
};

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void add(std::span<const std::byte> bytes);
  void add(std::string_view bytes) { add(std::as_bytes(std::span(bytes))); }
  /// Ends the computation; call once.
  Digest finish();
  static Digest of(std::string_view bytes);
  static Digest of(std::span<const std::byte> bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hub
