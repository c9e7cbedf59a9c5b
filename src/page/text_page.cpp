#include "page/text_page.h"

#include "page/page.h"

namespace chargpt {
namespace {

constexpr const char* style = R"(:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 1rem auto; padding: 0 1rem }
pre { font: 15px/1.7 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
b { font-weight: normal; border-radius: 2px }
.s1 { background: rgba(236, 110, 60, .18) } .s2 { background: rgba(236, 110, 60, .36) }
.s3 { background: rgba(236, 110, 60, .6) } .s4 { background: rgba(236, 80, 40, .9) }
)";

}  // namespace

std::string text_page(const std::string& title, const std::vector<ScoredSymbol>& symbols) {
  return page_beginning(title, style, "default-src 'none'; style-src 'unsafe-inline'") +
         "<p>Surprise in nats: <b class=s1>from 0.7</b> <b class=s2>1.6</b> <b class=s3>3</b> <b "
         "class=s4>5</b>.</p>\n<pre>" +
         marked_by_surprise(symbols) + "</pre>\n</html>\n";
}

}  // namespace chargpt
