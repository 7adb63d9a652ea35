//! Addresses of the dashboard's pages, for people whose client cannot show a whole question.

use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use server::PagesOrigin;
use server::routing::http::request::Parts;

use crate::surface::Called;

/// Returns the address of the page of a plan, or of the inbox without one; `None` over stdio and where
/// the server has no dashboard.
pub(super) fn find_page(ctx: &RequestContext<RoleServer>, plan: Option<&str>) -> Option<String> {
    let PagesOrigin(origin) = ctx.extensions.get::<Parts>()?.extensions.get()?;
    Some(match plan {
        Some(path) => format!("{origin}/nodes/{}", encode_path(path)),
        None => format!("{origin}/"),
    })
}

/// Adds to a result that waits for a person where they decide.
pub(super) fn add_page(mut called: Called, ctx: &RequestContext<RoleServer>) -> Called {
    if let Called::Done(Value::Object(fields)) = &mut called
        && fields.contains_key("waiting_for")
        && let Some(page) = find_page(ctx, fields.get("path").and_then(Value::as_str))
    {
        fields.insert("decide_at".to_owned(), page.into());
    }
    called
}

/// Encodes everything but letters and digits of ASCII, and what separates names.
fn encode_path(path: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    path.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::encode_path;

    #[test]
    fn paths_of_any_language_are_addresses() {
        assert_eq!(encode_path("act-1/chapter-02"), "act-1/chapter-02");
        assert_eq!(encode_path("002~2/a b?"), "002~2/a%20b%3F");
        assert_eq!(encode_path("ж"), "%D0%B6");
    }
}
