// How a text is said, as symbols of sounds: one class a language, chosen by the manifest.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hub/fields.h"
#include "modules/module.h"

namespace hub {

/// A part of the text and its sounds; a sign that is not said stands for itself.
struct Said {
  std::string text;
  std::vector<std::string> phonemes;
  /// Of a word that is said in two ways: the other one, and the part of speech ("V") that takes it.
  std::vector<std::string> other;
  std::string other_if;
};

class Pronouncer {
 public:
  virtual ~Pronouncer() = default;
  /// The parts of each text, in order. A text's result does not depend on its neighbours.
  virtual std::vector<std::vector<Said>> say(const std::vector<std::string>& texts) = 0;
};

/// English as the package g2p-en has it: a dictionary, and for words that are not there networks
/// "encoder" and "decoder" (networks/gru_seq2seq.cc). What that package asks NLTK's tagger is left
/// open: of words with two pronunciations both are given. Keys: dictionary ("word sounds" a line),
/// homographs ("word|sounds|sounds|part of speech" a line), graphemes and phonemes (lists, with
/// <unk>, <s> and </s>).
std::unique_ptr<Pronouncer> english_pronouncer(Module& module, Fields& fields);

/// Chinese as g2pM has it: pinyin a character, where a character has several the network "main"
/// says which (networks/bilstm_tagger.cc). Keys: dictionary, characters, classes (pickles of
/// dictionaries: character -> list of pinyin; character -> number; pinyin -> number).
std::unique_ptr<Pronouncer> chinese_pronouncer(Module& module, Fields& fields);

}  // namespace hub
