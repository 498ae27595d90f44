// How much memory a protobuf message takes once it is parsed, told from its bytes before that: an
// object of a few hundred bytes may stand in two bytes of a file.
#pragma once

#include <span>
#include <string_view>

namespace hub {

/// Field `number` of messages of kind `in` holds a message of kind `kind`. Kinds are letters.
struct WireMessage {
  char in;
  int number;
  char kind;
};

/// Throws Code::refused when the messages and strings in `bytes`, a message of kind `root`, would
/// take far more than good files do. What is not well formed is left to the parser.
void check_weight(std::string_view bytes, std::span<const WireMessage> schema, char root);

}  // namespace hub
