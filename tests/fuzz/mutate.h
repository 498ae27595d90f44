// Mutations of protobuf messages that keep them messages, so that more inputs get past the parser.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace hub {

/// Changes a few fields of the message or of those in it. Strings become others of the message, or
/// one of `words`.
void mutate(google::protobuf::Message& message, const std::vector<std::string>& words,
            unsigned seed);

/// For LLVMFuzzerCustomMutator: read(bytes, message) and write(message) say what an input is made
/// of; now and then, and where it cannot be read, its bytes are mutated.
template <class Message, class Read, class Write>
size_t mutate_input(uint8_t* data, size_t size, size_t most, unsigned seed,
                    const std::vector<std::string>& words, Read&& read, Write&& write) {
  Message message;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (seed % 5 != 0 && read(bytes, message)) {
    mutate(message, words, seed);
    const std::string made = write(message);
    if (made.size() <= most) {
      std::memcpy(data, made.data(), made.size());
      return made.size();
    }
  }
  return LLVMFuzzerMutate(data, size, most);
}

}  // namespace hub
