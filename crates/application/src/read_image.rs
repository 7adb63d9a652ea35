//! Reads an image of the project for a page: inside the project, of a known type, of a limited size.

use domain::image_kind::ImageKind;

use crate::context::Context;
use crate::failure::Failure;

/// Maximum size of an image.
const MAX_IMAGE_BYTES: u64 = 10 * 1024 * 1024;

/// An image.
#[derive(Clone, Debug)]
pub struct ProjectImage {
    pub kind: ImageKind,
    pub bytes: Vec<u8>,
}

/// Returns an image by its path in the project.
///
/// # Errors
/// When it is not there, is reached through a link, is too large, or is not an image.
pub fn read_image(ctx: &Context<'_>, path: &str) -> Result<ProjectImage, Failure> {
    // One message for all of them: the answer must not tell which other files exist.
    let missing = || {
        Failure::not_found(format!(
            "there is no image `{path}` of at most {} MB in the project",
            MAX_IMAGE_BYTES / (1024 * 1024)
        ))
    };
    let kind = ImageKind::from_name(path).ok_or_else(missing)?;
    // Files of ours and of git are no illustrations of a plan.
    if path.split('/').any(|part| part.starts_with('.')) {
        return Err(missing());
    }
    let bytes = ctx.files.read_bytes(path, MAX_IMAGE_BYTES);
    let bytes = bytes.filter(|bytes| kind.matches_bytes(bytes));
    Ok(ProjectImage {
        kind,
        bytes: bytes.ok_or_else(missing)?,
    })
}
