//! The frame around the sections.

use super::markup::Text;

const STYLE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/report.css"));

/// What a page is made of; everything but the content is plain text.
pub struct Page<'a> {
    pub title: &'a str,
    pub subtitle: &'a str,
    /// Finished HTML: sections made by `markup::section`.
    pub content: &'a str,
    /// Anchor and title of each section, for the table of contents.
    pub contents: &'a [(&'a str, &'a str)],
    pub footer: &'a str,
}

/// One file that needs nothing else. The policy in its head makes browsers refuse whatever could be loaded or run.
pub fn page(page: &Page) -> String {
    let links: String = page
        .contents
        .iter()
        .filter(|(id, _)| page.content.contains(&format!("<h2 id=\"{id}\"")))
        .map(|(id, title)| format!("<li><a href=\"#{id}\">{}</a></li>", Text(title)))
        .collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n<header>\n<h1>{title}</h1>\n<p class=\"soft\">{}</p>\n</header>\n\
         <nav aria-label=\"Contents\"><ul>{links}</ul></nav>\n{}<footer><p>{}</p></footer>\n</main>\n</body>\n</html>\n",
        Text(page.subtitle),
        page.content,
        Text(page.footer),
        title = Text(page.title),
    )
}
