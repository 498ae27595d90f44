// The report's style sheet. Text keeps a contrast of 4.5 or more on every ground, the levels of the
// confusion matrix included: the two strongest change the colour of their numbers.
#include "finetune/report/html.h"

namespace hub {

const std::string_view report_style = R"css(
:root { color-scheme: light dark; --ground: #ffffff; --card: #f6f7f9; --text: #16191d; --soft: #565d66;
  --line: #d5d9df; --mark: #1d4ed8; --good: 29 78 216; --bad: 194 65 12; --strong: #ffffff;
  --warn: #fff4d6; --warn-line: #b7791f; --s0: #1d4ed8; --s1: #c2410c; --s2: #0f766e; --s3: #7e22ce;
  --a0: .06; --a1: .12; --a2: .19; --a3: .26; --a4: .34; --a5: .43; --a6: .53; --a7: .64; --a8: .95; --a9: 1 }
@media (prefers-color-scheme: dark) { :root { --ground: #0f1419; --card: #181f27; --text: #e6edf3;
  --soft: #a3afbc; --line: #323c47; --mark: #7ab0ff; --good: 122 176 255; --bad: 255 159 107;
  --strong: #0f1419; --warn: #33290f; --warn-line: #d9a441; --s0: #7ab0ff; --s1: #ff9f6b; --s2: #5eead4;
  --s3: #d8b4fe; --a0: .05; --a1: .1; --a2: .15; --a3: .2; --a4: .26; --a5: .32; --a6: .39; --a7: .46;
  --a8: .82 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem clamp(.9rem, 3vw, 2rem) 3rem; background: var(--ground);
  color: var(--text); font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", sans-serif }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; overflow-wrap: anywhere }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .7rem }
h3 { font-size: 1rem; margin: 1.2rem 0 .5rem }
p { margin: .3rem 0 .8rem; max-width: 70ch }
a { color: var(--mark) }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: .8rem 0 0; font-size: .92rem }
.soft, figcaption { color: var(--soft) }
:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px }
.warnings { background: var(--warn); border-left: 4px solid var(--warn-line); border-radius: 4px;
  padding: .7rem 1rem; margin: 1.2rem 0 0; overflow-wrap: anywhere }
.warnings h2 { margin: 0 0 .2rem; font-size: 1rem } .warnings ul { margin: 0; padding-left: 1.2rem }
.values { display: grid; grid-template-columns: repeat(auto-fill, minmax(7.5rem, 1fr)); gap: .6rem; margin: 0 }
.values div { background: var(--card); border-radius: 6px; padding: .6rem .8rem }
.values dt { color: var(--soft); font-size: .85rem } .values dd { margin: 0; font-size: 1.35rem; font-weight: 600;
  font-variant-numeric: tabular-nums }
.pairs { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .25rem 1.2rem; margin: 0 }
.pairs dt { color: var(--soft) } .pairs dd { margin: 0; overflow-wrap: anywhere }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: 1rem }
figure { margin: 0; background: var(--card); border-radius: 6px; padding: .8rem .9rem; min-width: 0 }
figure h3 { margin: 0 0 .4rem }
figcaption { font-size: .88rem } figcaption ul { list-style: none; margin: 0 0 .3rem; padding: 0 }
.swatch { display: inline-block; width: 1.4em; height: 0; border-top: 3px solid; margin-right: .5em; vertical-align: .25em }
.swatch.c1 { border-top-style: dashed } .swatch.c2 { border-top-style: dotted }
svg { display: block; width: 100%; height: auto; overflow: visible } svg text { font-size: 12.5px; fill: var(--soft) }
@media (max-width: 30rem) { svg text { font-size: 16px } }
.grid { stroke: var(--line); stroke-width: 1 } .curve { fill: none; stroke-width: 2; stroke-linejoin: round }
.c0 { stroke: var(--s0); border-color: var(--s0) } .c1 { stroke: var(--s1); border-color: var(--s1) }
.c2 { stroke: var(--s2); border-color: var(--s2) } .c3 { stroke: var(--s3); border-color: var(--s3) }
.curve.c1 { stroke-dasharray: 7 3 } .curve.c2 { stroke-dasharray: 2 3 } circle { fill: var(--card); stroke-width: 2 }
.scroll { overflow: auto; max-height: 85vh; max-width: 100%; border: 1px solid var(--line); border-radius: 6px;
  width: fit-content }
details .scroll { max-height: 16rem }
summary { cursor: pointer }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; font-size: .92rem }
caption { text-align: left; padding: .4rem .7rem; color: var(--soft) }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid var(--line) }
tbody tr:last-child > * { border-bottom: 0 }
th { font-weight: 600 } thead th { position: sticky; top: 0; background: var(--card); z-index: 1; color: var(--soft) }
th[scope=row], thead th:first-child { text-align: left; position: sticky; left: 0; background: var(--card) }
th[scope=row] { min-width: 6.5rem; max-width: 14rem; overflow-wrap: break-word }
thead th:first-child { z-index: 2 }
td.share { background: linear-gradient(rgb(var(--good) / .22), rgb(var(--good) / .22)) left / calc(var(--v) * 1%) 100% no-repeat }
.confusion { font-size: .82rem } .confusion td { min-width: 2.6em; padding: .3rem .35rem; text-align: center; border: 0 }
.confusion td.none { color: var(--soft) }
.confusion th { padding: .3rem .5rem; font-weight: 500 }
.confusion thead th:not(:first-child) { text-align: center; max-width: 7rem; overflow-wrap: anywhere }
.confusion.many thead th:not(:first-child) { writing-mode: vertical-rl; transform: rotate(180deg); text-align: left;
  padding: .5rem .2rem; max-width: none; border-bottom: 0; border-top: 1px solid var(--line) }
.confusion.many thead span { display: block; max-height: 9rem; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis }
.confusion.many thead th:first-child { vertical-align: bottom }
.confusion.many th[scope=row] { max-width: 9rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis }
.cases { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: .8rem;
  list-style: none; margin: 0; padding: 0 }
.cases li { background: var(--card); border-radius: 6px; padding: .8rem .9rem; min-width: 0; overflow-wrap: anywhere }
.cases img { display: block; max-width: 100%; height: 11rem; object-fit: contain; margin: 0 auto .6rem }
.cases blockquote { margin: 0 0 .6rem; white-space: pre-wrap }
.cases p { margin: .1rem 0 } .cases .source { font-size: .85rem; color: var(--soft) }
.wrong { color: rgb(var(--bad)); font-weight: 600 } .right { color: var(--mark); font-weight: 600 }
footer { margin-top: 2.5rem; font-size: .88rem; color: var(--soft) }
.d0 { background: rgb(var(--good) / var(--a0)) } .e0 { background: rgb(var(--bad) / var(--a0)) }
.d1 { background: rgb(var(--good) / var(--a1)) } .e1 { background: rgb(var(--bad) / var(--a1)) }
.d2 { background: rgb(var(--good) / var(--a2)) } .e2 { background: rgb(var(--bad) / var(--a2)) }
.d3 { background: rgb(var(--good) / var(--a3)) } .e3 { background: rgb(var(--bad) / var(--a3)) }
.d4 { background: rgb(var(--good) / var(--a4)) } .e4 { background: rgb(var(--bad) / var(--a4)) }
.d5 { background: rgb(var(--good) / var(--a5)) } .e5 { background: rgb(var(--bad) / var(--a5)) }
.d6 { background: rgb(var(--good) / var(--a6)) } .e6 { background: rgb(var(--bad) / var(--a6)) }
.d7 { background: rgb(var(--good) / var(--a7)) } .e7 { background: rgb(var(--bad) / var(--a7)) }
.d8 { background: rgb(var(--good) / var(--a8)) } .e8 { background: rgb(var(--bad) / var(--a8)) }
.d9 { background: rgb(var(--good) / var(--a9)) } .e9 { background: rgb(var(--bad) / var(--a9)) }
.d8, .d9, .e8, .e9 { color: var(--strong) }
)css";

}  // namespace hub
