#include "base/digest.h"

#include <catch2/catch.hpp>

#include "tests/error_of.h"

using namespace hub;

namespace {
// FIPS 180-2, appendix B.1.
const std::string abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
}  // namespace

TEST_CASE("SHA-256 of known texts, whole and in pieces") {
  CHECK(Sha256::of("abc").hex() == abc);
  CHECK(Sha256::of("").hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 sha;
  for (std::string_view piece : {"a", "", "bc"}) sha.add(piece);
  CHECK(sha.finish() == Digest::parse(abc));
}

TEST_CASE("a digest is 64 hex digits of either case") {
  std::string upper = abc;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  CHECK(Digest::parse(upper).hex() == abc);
  CHECK(Digest::parse("sha256:" + abc).hex() == abc);
  const std::string nul = abc.substr(0, 63) + std::string(1, '\0');
  for (const std::string& bad :
       {std::string(), abc.substr(1), abc + "0", concat("g", abc.substr(1)),
        std::string("../../../../tmp/hub_pwned"), concat("sha512:", abc),
        concat("sha256:", abc.substr(1)), concat(" ", abc.substr(1)), nul}) {
    CAPTURE(bad);
    error_of(Code::refused, [&] { Digest::parse(bad); });
  }
}
