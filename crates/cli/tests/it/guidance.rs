//! The author's guidance: style, voice, forbidden words and checklist reach writer and judge.

use testkit::Project;

use crate::planned;

/// Writes a scene without a model and returns the prompts of writer and judge.
fn written_prompts(project: &Project) -> String {
    let output = project.run(&["story", "write", "scene-0101", "--show-prompt"]);
    format!("{}{}", output.stderr, output.stdout)
}

#[test]
fn guidance_of_the_book_and_of_the_point_of_view_reaches_writer_and_judge() {
    let project = planned();
    project.write("story/style.md", "Short sentences.\n");
    project.write("story/voice.md", "The tide kept its appointments.\n");
    project.write("story/checklist.md", "- [ ] Nobody explains a joke.\n");
    project.write("story/pov/Mara/style.md", "Mara notices hands first.\n");
    project.write("story/pov/Ines/style.md", "Ines counts.\n");
    project.write(
        Project::SCENE,
        "---\npov: Mara\n---\n# The gate\n\nMara stands at the gate.\n",
    );
    project.ok(&["approve", "scene-0101"]);
    let prompts = written_prompts(&project);
    let expected = [
        "│ Short sentences.",
        "│ Mara notices hands first.",
        "│ The tide kept its appointments.",
        "## The author's checklist",
        "│ Nobody explains a joke.",
        "style guide",
    ];
    for part in expected {
        assert!(prompts.contains(part), "{part}: {prompts}");
    }
    assert!(!prompts.contains("Ines counts"), "{prompts}");
}

#[test]
fn forbidden_words_are_findings_and_a_must_holds_the_scene() {
    let project = planned();
    project.write(
        Project::SCENE,
        "# The gate\n\nMara suddenly stands at the gate.\n",
    );
    project.ok(&["approve", "scene-0101"]);
    project.write("story/forbidden-words.md", "# Mine\n\n- must: suddenly\n");
    let held = project.run(&["story", "write", "scene-0101"]);
    assert_eq!(held.code, 1, "{held:?}");
    assert!(
        held.stdout.contains("forbidden-words: “suddenly”"),
        "{held:?}"
    );
    // As a wish, it is noted, and the scene is finished.
    project.write("story/forbidden-words.md", "suddenly\n");
    project.ok(&["story", "generation", "cancel", "scene-0101"]);
    let noted = project.ok(&["story", "write", "scene-0101"]);
    assert!(noted.stdout.contains("complete"), "{noted:?}");
}

#[test]
fn guidance_that_is_too_long_is_named_and_not_used() {
    let project = planned();
    project.write("story/style.md", "word ".repeat(20_000));
    let prompts = written_prompts(&project);
    assert!(prompts.contains("story/style.md"), "{prompts}");
    assert!(!prompts.contains("style guide"), "{prompts}");
}
