//! The files of an EPUB 3: package, navigation, a title page, and a page per part and chapter.

use std::fmt::Write as _;

use super::{Book, escape_xml};

/// A page of the book.
struct EpubPage {
    name: String,
    title: String,
    body: String,
    /// Whether it belongs to the part before it in the table of contents.
    is_nested: bool,
}

impl Book {
    /// Returns the files of an EPUB 3 in archive order; the first must be stored uncompressed.
    #[must_use]
    pub fn to_epub_files(&self) -> Vec<(String, String)> {
        let pages = self.epub_pages();
        let container = "<?xml version=\"1.0\"?>\n<container version=\"1.0\" \
             xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\">\n<rootfiles><rootfile full-path=\"OEBPS/book.opf\" \
             media-type=\"application/oebps-package+xml\"/></rootfiles>\n</container>\n";
        let nav = format!(
            "<nav epub:type=\"toc\" id=\"toc\"><h1>{}</h1>\n{}</nav>",
            escape_xml(&self.title),
            render_contents(&pages)
        );
        // `mimetype` has to be the first entry: readers identify the format by its bytes at a fixed
        // offset.
        let mut files = vec![
            ("mimetype".to_owned(), "application/epub+zip".to_owned()),
            ("META-INF/container.xml".to_owned(), container.to_owned()),
            ("OEBPS/book.opf".to_owned(), self.render_package(&pages)),
            (
                "OEBPS/nav.xhtml".to_owned(),
                self.render_page("Contents", &nav),
            ),
        ];
        let pages = pages.iter().map(|page| {
            let text = self.render_page(&page.title, &page.body);
            (format!("OEBPS/{}.xhtml", page.name), text)
        });
        files.extend(pages);
        files
    }

    fn epub_pages(&self) -> Vec<EpubPage> {
        let mut front = format!("<h1>{}</h1>", escape_xml(&self.title));
        let details = &self.details;
        for line in [&details.subtitle, &details.author, &details.rights]
            .into_iter()
            .flatten()
        {
            let _ = write!(front, "\n<p>{}</p>", escape_xml(line));
        }
        let mut pages = vec![EpubPage {
            name: "title".to_owned(),
            title: self.title.clone(),
            body: front,
            is_nested: false,
        }];
        // File names by number, because titles may contain anything.
        let mut chapters = 0;
        for (index, part) in self.parts.iter().enumerate() {
            if let Some(title) = &part.title {
                pages.push(EpubPage {
                    name: format!("part-{:02}", index + 1),
                    title: title.clone(),
                    body: format!("<h1>{}</h1>", escape_xml(title)),
                    is_nested: false,
                });
            }
            for chapter in &part.chapters {
                chapters += 1;
                pages.push(EpubPage {
                    name: format!("chapter-{chapters:03}"),
                    title: chapter.title.clone(),
                    body: chapter.render_body(),
                    is_nested: part.title.is_some(),
                });
            }
        }
        pages
    }

    fn render_package(&self, pages: &[EpubPage]) -> String {
        let details = &self.details;
        let (mut items, mut spine, mut more) = (String::new(), String::new(), String::new());
        // Writing to a `String` cannot fail, hence the ignored results.
        for EpubPage { name, .. } in pages {
            let _ = writeln!(
                items,
                "<item id=\"{name}\" href=\"{name}.xhtml\" media-type=\"application/xhtml+xml\"/>"
            );
            let _ = writeln!(spine, "<itemref idref=\"{name}\"/>");
        }
        if let Some(author) = &details.author {
            let _ = writeln!(more, "<dc:creator>{}</dc:creator>", escape_xml(author));
        }
        if let Some(rights) = &details.rights {
            let _ = writeln!(more, "<dc:rights>{}</dc:rights>", escape_xml(rights));
        }
        format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<package xmlns=\"http://www.idpf.org/2007/opf\" version=\"3.0\" \
             unique-identifier=\"id\">\n<metadata xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n\
             <dc:identifier id=\"id\">{}</dc:identifier>\n<dc:title>{}</dc:title>\n<dc:language>{}</dc:language>\n{more}\
             <meta property=\"dcterms:modified\">{}</meta>\n</metadata>\n<manifest>\n\
             <item id=\"nav\" href=\"nav.xhtml\" media-type=\"application/xhtml+xml\" properties=\"nav\"/>\n{items}</manifest>\n\
             <spine>\n{spine}</spine>\n</package>\n",
            escape_xml(&self.identifier),
            escape_xml(&self.title),
            // EPUB requires a language; `und` is BCP 47's for an unknown one.
            details.language.as_deref().unwrap_or("und"),
            escape_xml(&self.modified)
        )
    }

    fn render_page(&self, title: &str, body: &str) -> String {
        let language = match &self.details.language {
            Some(language) => format!(" lang=\"{language}\" xml:lang=\"{language}\""),
            None => String::new(),
        };
        format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" \
             xmlns:epub=\"http://www.idpf.org/2007/ops\"{language}>\n<head><title>{}</title></head>\n<body>\n{body}\n</body>\n</html>\n",
            escape_xml(title)
        )
    }
}

/// Renders the table of contents; chapters of a part are a list in its entry.
fn render_contents(pages: &[EpubPage]) -> String {
    let mut out = String::from("<ol>\n");
    let mut pages = pages.iter().peekable();
    while let Some(page) = pages.next() {
        let _ = write!(
            out,
            "<li><a href=\"{}.xhtml\">{}</a>",
            page.name,
            escape_xml(&page.title)
        );
        // The nested list has to be inside of the part's `<li>`, which is closed after its
        // chapters.
        let is_next_nested = pages.peek().is_some_and(|next| next.is_nested);
        match (page.is_nested, is_next_nested) {
            (false, true) => out.push_str("\n<ol>\n"),
            (true, false) => out.push_str("</li>\n</ol>\n</li>\n"),
            _ => out.push_str("</li>\n"),
        }
    }
    out.push_str("</ol>\n");
    out
}
