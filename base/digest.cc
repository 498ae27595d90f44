#include "base/digest.h"

#include <openssl/evp.h>

#include "base/error.h"

namespace hub {

Digest Digest::parse(std::string_view text) {
  std::string_view hex = text;
  if (hex.starts_with("sha256:")) hex.remove_prefix(7);
  std::string lower;
  for (char c : hex) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
      lower.clear();
      break;
    }
    lower += c;
  }
  if (lower.size() != 64) {
    fail(Code::refused, "'", text.substr(0, 80),
         "' is not a SHA-256 digest: 64 hexadecimal digits are wanted");
  }
  return Digest(std::move(lower));
}

struct Sha256::State {
  EVP_MD_CTX* ctx = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(ctx); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (EVP_DigestInit_ex(state_->ctx, EVP_sha256(), nullptr) != 1) {
    fail(Code::unsupported, "SHA-256 is not available in this build of OpenSSL");
  }
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(state_->ctx, bytes.data(), bytes.size());
}

Digest Sha256::finish() {
  std::array<unsigned char, 32> raw{};
  EVP_DigestFinal_ex(state_->ctx, raw.data(), nullptr);
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(64);
  for (unsigned char c : raw) {
    hex += digits[c >> 4];
    hex += digits[c & 15];
  }
  return Digest(std::move(hex));
}

Digest Sha256::of(std::string_view bytes) { return of(std::as_bytes(std::span(bytes))); }

Digest Sha256::of(std::span<const std::byte> bytes) {
  Sha256 sha;
  sha.add(bytes);
  return sha.finish();
}

}  // namespace hub
