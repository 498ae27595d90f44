// The data check: what a person wants to know before the training starts.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "finetune/data/data.h"
#include "modules/image.h"

namespace hub {
namespace {

constexpr size_t shown = 20;  // of each list
constexpr double imbalance = 10;

struct Named {
  const char* name;
  const Dataset* data;
};

std::vector<Named> parts_of(const Splits& s) {
  return {{"train", &s.train}, {"validation", &s.validation}, {"test", &s.test}};
}

bool is_classification(std::string_view task) {
  return task != task_regression && task != task_embedding && task != task_reading &&
         task != task_language;
}

std::vector<int64_t> class_rows(const Dataset& data) {
  std::vector<int64_t> rows(data.classes.size());
  for (const Item& item : data.items) {
    for (int32_t label : item.labels) ++rows[label];
  }
  return rows;
}

int64_t characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

Spread spread_of(std::vector<int64_t> values) {
  Spread s;
  if (values.empty()) return s;
  std::sort(values.begin(), values.end());
  s.least = values.front();
  s.median = values[values.size() / 2];
  s.p95 = values[(values.size() * 95 + 99) / 100 - 1];
  s.most = values.back();
  int64_t top = 1;
  auto at = values.begin();
  while (at != values.end()) {
    const auto end = std::upper_bound(at, values.end(), top);
    if (end != at || !s.buckets.empty()) s.buckets.emplace_back(top, end - at);
    at = end;
    top *= 2;
  }
  return s;
}

std::string label_text(const Dataset& data, const Item& item) {
  if (data.classes.empty()) return std::to_string(item.value);
  std::string s;
  for (int32_t label : item.labels) s += concat(s.empty() ? "" : " ", data.classes[label]);
  return s.empty() ? "none" : s;
}

void find_duplicates(const Splits& splits, DataReport& report) {
  struct Place {
    size_t part;
    const Item* item;
  };
  std::unordered_map<std::string, std::vector<Place>> by_content;
  std::vector<const std::string*> order;
  const auto parts = parts_of(splits);
  for (size_t p = 0; p < parts.size(); ++p) {
    for (const Item& item : parts[p].data->items) {
      const auto [it, is_new] = by_content.try_emplace(content_key(item));
      it->second.push_back({p, &item});
      if (it->second.size() == 2) order.push_back(&it->first);
    }
  }
  for (const std::string* key : order) {
    Duplicate d;
    std::set<std::string> labels;
    const auto& places = by_content[*key];
    for (const Place& place : places) {
      d.across = d.across || place.part != places[0].part;
      if (d.sources.size() < 10) d.sources.push_back(place.item->source);
      if (labels.size() < 5) labels.insert(label_text(*parts[place.part].data, *place.item));
    }
    ++(d.across ? report.duplicates_across : report.duplicates_within);
    if (labels.size() > 1) {
      ++report.label_conflicts;
      d.conflict = one_of({labels.begin(), labels.end()});
    }
    if (report.duplicates.size() < shown) report.duplicates.push_back(std::move(d));
  }
}

void look_at_pictures(const Splits& splits, DataReport& report, Progress& progress) {
  std::vector<const Item*> items;
  for (const auto& [name, data] : parts_of(splits)) {
    for (const Item& item : data->items) items.push_back(&item);
  }
  std::vector<int64_t> widths, heights;
  Silent silent;
  for (size_t i = 0; i < items.size(); ++i) {
    const Item& item = *items[i];
    int width = item.width, height = item.height;
    if (!item.file.empty()) {
      try {
        const Image image = decode_image(MappedFile::open(item.file).text(), item.file, silent);
        width = image.width, height = image.height;
      } catch (const Error& e) {
        report.unreadable.push_back(e.what());
      }
      progress.update("pictures", i + 1, items.size());
    }
    if (width == 0) continue;
    widths.push_back(width);
    heights.push_back(height);
  }
  report.width = spread_of(std::move(widths));
  report.height = spread_of(std::move(heights));
}

void look_at_texts(const Splits& splits, DataReport& report) {
  std::vector<int64_t> lengths;
  for (const auto& [name, data] : parts_of(splits)) {
    for (const Item& item : data->items) {
      const int64_t tokens = static_cast<int64_t>(item.tokens.size());
      const int64_t n = characters(item.text) + characters(item.text_b);
      if (tokens + n > 0) lengths.push_back(tokens > 0 ? tokens : n);
    }
  }
  report.length = spread_of(std::move(lengths));
}

/// Whole numbers that are not one after the other, as people number classes by mistake.
void look_for_gaps(const std::vector<std::string>& classes, DataReport& report) {
  std::vector<int64_t> numbers;
  for (const std::string& name : classes) {
    if (name.empty() || name.size() > 9 || name.find_first_not_of("0123456789") != name.npos)
      return;
    numbers.push_back(std::stoll(name));
  }
  std::sort(numbers.begin(), numbers.end());
  std::string gaps;
  size_t count = 0;
  for (size_t i = 1; i < numbers.size(); ++i) {
    for (int64_t n = numbers[i - 1] + 1; n < numbers[i]; ++n) {
      if (++count > 10) break;
      gaps += concat(gaps.empty() ? "" : ", ", n);
    }
  }
  if (count == 0) return;
  report.notes.push_back(concat("the labels are numbers with gaps (no ", gaps,
                                count > 10 ? ", …" : "", "); they are taken as names"));
}

void look_at_classes(const Splits& splits, DataReport& report) {
  const auto& classes = report.classes;
  if (classes.empty() || !is_classification(splits.task)) return;
  look_for_gaps(classes, report);
  const auto& rows = report.parts[0].class_rows;
  std::vector<std::string> absent;
  size_t least = 0, most = 0;
  for (size_t c = 0; c < classes.size(); ++c) {
    if (rows[c] == 0 && !splits.train.items.empty()) absent.push_back(classes[c]);
    if (rows[c] > 0 && (rows[least] == 0 || rows[c] < rows[least])) least = c;
    if (rows[c] > rows[most]) most = c;
  }
  for (size_t i = 0; i < std::min(absent.size(), shown); ++i) {
    report.warnings.push_back(
        concat("class '", printable(absent[i]), "' has no training row: it cannot be learned"));
  }
  if (absent.size() > shown) {
    report.warnings.push_back(concat(absent.size(), " classes have no training row"));
  }
  if (splits.task != task_tagging && rows[least] > 0 &&
      static_cast<double>(rows[most]) >= imbalance * static_cast<double>(rows[least])) {
    report.warnings.push_back(concat("the classes are uneven: '", printable(classes[most]),
                                     "' has ", rows[most], " training rows, '",
                                     printable(classes[least]), "' has ", rows[least]));
  }
}

}  // namespace

std::vector<std::string> obstacles(const Splits& splits) {
  const auto& items = splits.train.items;
  if (items.empty()) return {"there are no training rows"};
  std::vector<std::string> fails;
  if (splits.task == task_regression) {
    const float first = items[0].value;
    if (std::all_of(items.begin(), items.end(), [&](const Item& i) { return i.value == first; })) {
      fails.push_back(concat("every training row has the value ", first));
    }
  } else if (splits.task == task_reading) {
    if (std::all_of(items.begin(), items.end(), [](const Item& i) { return i.start < 0; })) {
      fails.push_back("no training question has an answer");
    }
  } else if (splits.task == task_embedding) {
    if (std::all_of(items.begin(), items.end(), [](const Item& i) { return i.text_b.empty(); })) {
      fails.push_back("pairs of texts are wanted; name the second column");
    }
  } else if (is_classification(splits.task)) {
    const auto rows = class_rows(splits.train);
    const auto used = std::count_if(rows.begin(), rows.end(), [](int64_t n) { return n > 0; });
    const bool multi_label = splits.task.find("multi-label") != std::string::npos;
    if (used == 0) {
      fails.push_back("no training row has a label");
    } else if (used == 1 && !multi_label && splits.task != task_tagging) {
      const auto only = std::max_element(rows.begin(), rows.end()) - rows.begin();
      fails.push_back(concat("every training row has the label '",
                             printable(splits.train.classes[static_cast<size_t>(only)]),
                             "': two classes at least are wanted"));
    }
  }
  return fails;
}

DataReport check_data(const Splits& splits, Progress& progress) {
  DataReport report;
  report.task = splits.task;
  report.found = splits.found;
  report.encoding = splits.encoding;
  report.made = splits.made;
  report.classes = splits.train.classes;
  report.notes = splits.notes;
  for (const auto& [name, data] : parts_of(splits)) {
    report.parts.push_back(
        {name, static_cast<int64_t>(data->items.size()), class_rows(*data), data->digest});
    report.warnings.insert(report.warnings.end(), data->warnings.begin(), data->warnings.end());
  }
  report.fails = obstacles(splits);
  look_at_pictures(splits, report, progress);
  look_at_texts(splits, report);
  look_at_classes(splits, report);
  find_duplicates(splits, report);
  const auto contents = [](int64_t n) { return concat(n, n == 1 ? " content" : " contents"); };
  if (report.duplicates_across > 0) {
    report.warnings.push_back(concat(contents(report.duplicates_across),
                                     " in more than one split: scores on them say nothing about "
                                     "new data"));
  }
  if (report.label_conflicts > 0) {
    report.warnings.push_back(
        concat(contents(report.label_conflicts), " with different labels in different rows"));
  }
  if (!splits.train.items.empty() && splits.validation.items.empty()) {
    report.warnings.push_back("there are no validation rows: nothing tells when to stop");
  }
  if (!report.unreadable.empty()) {
    report.fails.push_back(concat(report.unreadable.size(),
                                  report.unreadable.size() == 1 ? " picture" : " pictures",
                                  " cannot be read"));
  }
  return report;
}

}  // namespace hub
