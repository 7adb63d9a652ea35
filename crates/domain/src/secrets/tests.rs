//! What is found and masked, and what is left alone.

use proptest::prelude::*;

use super::*;
use crate::ids::VersionHash;

/// Secrets of each kind, made up.
const SECRETS: &[(&str, SecretKind)] = &[
    (
        "sk-ant-api03-Zx81kQpLmN0aRtYuVwEe7Gh2Qz3A",
        SecretKind::AnthropicKey,
    ),
    ("sk-ant-api03-abcdefghijklmnop", SecretKind::AnthropicKey),
    ("sk-proj-0123456789abcdefXYZ", SecretKind::OpenaiKey),
    (
        "sk-T3BlbkFJ0123456789abcdefghijklmnopqrstuvwxyz1234",
        SecretKind::OpenaiKey,
    ),
    (
        "AIzaSyA0123456789abcdefghijklmnopqrstuv",
        SecretKind::GoogleKey,
    ),
    ("AKIAIOSFODNN7EXAMPLE", SecretKind::AwsKey),
    ("ASIAIOSFODNN7EXAMPLE", SecretKind::AwsKey),
    (
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        SecretKind::GithubToken,
    ),
    (
        "gho_0123456789abcdefghijABCDEFGHIJ012345",
        SecretKind::GithubToken,
    ),
    (
        "ghs_0123456789abcdefghijABCDEFGHIJ012345",
        SecretKind::GithubToken,
    ),
    (
        "github_pat_11ABCDEFG0abcdefghijkl_0123456789abcdefgh",
        SecretKind::GithubToken,
    ),
    ("glpat-a1B2c3D4e5F6g7H8i9J0", SecretKind::GitlabToken),
    ("xoxb-123456789012-abcdefGHIJKL", SecretKind::SlackToken),
    (
        "npm_0123456789abcdefghijABCDEFGHIJ012345",
        SecretKind::NpmToken,
    ),
    (
        "pypi-AgEIcHlwaS5vcmcCJDAxMjM0NTY3LTg5YWItY2RlZi0wMTIz",
        SecretKind::PypiToken,
    ),
    (
        "hf_abcdefghijklmnopqrstuvwxyz01234567",
        SecretKind::HuggingFaceToken,
    ),
    (
        "dop_v1_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        SecretKind::DigitaloceanToken,
    ),
    (
        "SG.abcdefghijklmnopqrstuv.ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefg",
        SecretKind::SendgridKey,
    ),
    ("sk_live_0123456789abcdefghijklmn", SecretKind::StripeKey),
    ("rk_live_0123456789abcdefghijklmn", SecretKind::StripeKey),
    ("SK0123456789abcdef0123456789abcdef", SecretKind::TwilioKey),
    (
        "123456789:AAE0123456789abcdefghijklmnopqrstuv",
        SecretKind::TelegramToken,
    ),
    (
        "tl_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        SecretKind::ThroughlineToken,
    ),
    (
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIz",
        SecretKind::JsonWebToken,
    ),
];

/// Texts with a secret in a context that gives it away: before, secret, after.
const IN_CONTEXT: &[(&str, &str, &str, SecretKind)] = &[
    (
        "Authorization: Bearer ",
        "abcdefghijkl.mnop4",
        "",
        SecretKind::BearerToken,
    ),
    (
        "curl -H 'Authorization: Basic ",
        "dXNlcjpwYXNzMTIz",
        "' https://x",
        SecretKind::BearerToken,
    ),
    (
        "authorization: token ",
        "0123456789abcdef",
        "",
        SecretKind::BearerToken,
    ),
    (
        "DB_PASSWORD=",
        "hunter2!",
        " ./run",
        SecretKind::AssignedSecret,
    ),
    (
        "password: ",
        "hunter2",
        "\nuser: anna",
        SecretKind::AssignedSecret,
    ),
    (
        "passwd = \"",
        "s3cret-W0rd",
        "\"",
        SecretKind::AssignedSecret,
    ),
    (
        "{\"api_key\": \"",
        "a8Gk29slQm20Zb",
        "\"}",
        SecretKind::AssignedSecret,
    ),
    (
        "{\\\"password\\\": \\\"",
        "hunter2hunter2",
        "\\\"}",
        SecretKind::AssignedSecret,
    ),
    (
        "client_secret=",
        "0123456789abcdef0123456789abcdef",
        "&x=1",
        SecretKind::AssignedSecret,
    ),
    (
        "AWS_SECRET_ACCESS_KEY=",
        "wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzKEYA",
        "",
        SecretKind::AssignedSecret,
    ),
    (
        "TWILIO_AUTH_TOKEN: '",
        "0123456789abcdef0123456789abcdef",
        "'",
        SecretKind::AssignedSecret,
    ),
    (
        "mysql --password ",
        "hunter2x",
        " db",
        SecretKind::AssignedSecret,
    ),
    (
        "postgres://anna:",
        "hunter2",
        "@db.example.org/plans",
        SecretKind::UrlPassword,
    ),
    (
        "https://x-access-token:",
        "p%40ss:w0rd",
        "@git.example.org/a.git",
        SecretKind::UrlPassword,
    ),
    (
        "https://hooks.slack.com/services/",
        "T00000001/B00000002/abcdefghijklmnopqrst",
        "",
        SecretKind::SlackWebhook,
    ),
];

const PRIVATE_KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\n\
                           MIIEowIBAAKCAQEA0123456789abcdefghijklmnopqrstuvwxyz0123456789ab\n\
                           ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstuvwxyz01\n\
                           c2hvcnQ=\n\
                           -----END RSA PRIVATE KEY-----";

/// Ordinary text that looks a little like a secret.
const HARMLESS: &[&str] = &[
    "a sk-8 board and a risk-averse bearer of news",
    "install sk-learn-extensions-for-pipelines-2024 before task-force-one-thousand",
    "The secret: the butler did it. The password is the name of the dog.",
    "password: required, token: optional; secret = none",
    "Token: a ring. Password: swordfish. passphrase: correct horse battery staple",
    "export TOKEN=$GITHUB_TOKEN PASSWORD=${DB_PASSWORD} SECRET=<your secret> API_KEY=xxxxxxxxxxxxxxxx",
    "api_key = os.environ[\"API_KEY2\"]; password = read_password(1)",
    "let token = self.next_token2(); let password = settings.database.password2;",
    "password=changeme api_key=\"your-api-key-1234567890\" token=...",
    "ANTHROPIC_API_KEY=sk-ant-xxxxxxxxxxxxxxxxxxxx or sk-ant-... or sk-ant-your-key-goes-here-123",
    "commit 1f1a9a9a0c6f2b7f8a7d3f3f5d8b9c0e1a2b3c4d fixes 0a1b2c3",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "id 550e8400-e29b-41d4-a716-446655440000 and 01JCQZ7V4T3M9W8X6Y5Z4A3B2C",
    "see https://user@example.org/a:b@c and http://[::1]:8080/x?y=1#z, ssh://git@host:22/repo",
    "postgres://anna:$PASSWORD@db/plans postgres://anna:<password>@db postgres://anna:password@localhost/db",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
    "a block begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n\n# Act 1\n\nThe key is cut.",
    "fn tl_status_of_every_node_in_the_whole_tree_is_derived() {}",
    "use of hf_hub_download_and_cache_models_in_directory and npm_config_registry_and_other_settings",
    "max_tokens: 4096, token_count=12345678, next_token: chapter-02, secret: my-secret-name-01",
    "AKIA is a prefix; AIza too; ghp_ and glpat- and xoxb- are others; eyJ begins a token",
    "Bearer tokens are sent as `Authorization: Bearer <token>` or Bearer $TOKEN; authorization: everyone",
    "| key | value |\n|---|---|\n| password | at least 12 characters |",
    "chapter-02: scene-01 => approved@2026-11-16T10:00:00Z",
    "PWD=/home/anna/projekt1 OLDPWD=/tmp/x1",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==",
];

fn masked(text: &str) -> String {
    mask_secrets(text).into_owned()
}

#[test]
fn every_known_key_format_is_masked_with_its_kind_and_at_most_four_of_its_characters() {
    for (secret, kind) in SECRETS {
        for (before, after) in [
            ("", ""),
            ("key ", ", then"),
            ("=", "\n"),
            ("`", "`"),
            ("(", ")"),
            ("\\n", "\\n"),
            ("é", "é"),
        ] {
            let text = format!("{before}{secret}{after}");
            let found = find_secrets(&text);
            let kinds: Vec<SecretKind> = found.iter().map(|secret| secret.kind).collect();
            assert_eq!(kinds, [*kind], "{text}");
            let output = masked(&text);
            let end = secret.get(secret.len() - 4..).unwrap();
            let expected = [
                format!("[masked {kind} …{end}]"),
                format!("[masked {kind}]"),
            ];
            assert!(
                expected
                    .iter()
                    .any(|mask| output == format!("{before}{mask}{after}")),
                "{text} -> {output}"
            );
            assert!(
                secret.len() >= MIN_SHOWING_BYTES || !output.contains(end),
                "{output}"
            );
        }
    }
}

#[test]
fn a_secret_given_away_by_its_context_is_masked_and_the_context_stays() {
    for (before, secret, after, kind) in IN_CONTEXT {
        let text = format!("{before}{secret}{after}");
        let output = masked(&text);
        assert!(!output.contains(secret), "{output}");
        assert!(
            output.starts_with(before) && output.ends_with(after),
            "{output}"
        );
        assert!(output.contains(&format!("[masked {kind}")), "{output}");
        if !kind.shows_end() {
            assert_eq!(output, format!("{before}[masked {kind}]{after}"));
        }
    }
}

#[test]
fn a_key_that_is_assigned_is_called_by_its_own_kind() {
    assert_eq!(
        masked("ANTHROPIC_API_KEY=sk-ant-api03-Zx81kQpLmN0aRtYuVwEe7Gh2Qz3A"),
        "ANTHROPIC_API_KEY=[masked anthropic key …Qz3A]"
    );
    assert_eq!(
        masked("Authorization: Bearer ghp_0123456789abcdefghijABCDEFGHIJ012345"),
        "Authorization: Bearer [masked github token …2345]"
    );
}

#[test]
fn a_private_key_block_is_masked_whole_and_unfinished_in_files_and_in_json() {
    let text = format!("before\n{PRIVATE_KEY}\nafter");
    assert_eq!(masked(&text), "before\n[masked private key]\nafter");
    let unfinished = "before\n-----BEGIN OPENSSH PRIVATE KEY-----\n\
                      b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n\nAfter it.";
    assert_eq!(
        masked(unfinished),
        "before\n[masked private key]\n\nAfter it."
    );
    let in_json = format!("{{\"key\": \"{}\"}}", PRIVATE_KEY.replace('\n', "\\n"));
    assert_eq!(masked(&in_json), "{\"key\": \"[masked private key]\"}");
    let encrypted = PRIVATE_KEY.replacen(
        '\n',
        "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n",
        1,
    );
    assert_eq!(masked(&encrypted), "[masked private key]");
    let quoted = PRIVATE_KEY.replace('\n', "\n> ");
    assert_eq!(masked(&format!("> {quoted}")), "> [masked private key]");
}

#[test]
fn prose_code_hashes_and_placeholders_stay_as_they_are() {
    for text in HARMLESS {
        let found = find_secrets(text);
        let taken: Vec<&str> = found
            .iter()
            .map(|secret| text.get(secret.range.clone()).unwrap())
            .collect();
        assert!(found.is_empty(), "{taken:?} in {text}");
    }
}

#[test]
fn the_count_names_kinds_and_never_a_secret() {
    let mut count = SecretCount::default();
    let _ = mask_text(
        "sk-ant-api03-Zx81kQpLmN0aRtYuVwEe7Gh2Qz3A and password=hunter2!",
        &mut count,
    );
    assert_eq!(count.to_string(), "2 secrets (anthropic key, password)");
    let mut one = SecretCount::default();
    let _ = mask_text("glpat-a1B2c3D4e5F6g7H8i9J0", &mut one);
    assert_eq!(one.to_string(), "1 secret (gitlab token)");
}

#[test]
fn a_kept_text_is_filled_in_only_when_it_becomes_the_version_to_the_byte() {
    let older = "# A\nkey sk-ant-api03-Zx81kQpLmN0aRtYuVwEe7Gh2Qz3A\npassword=hunter2!\n";
    let newer = "# B\npassword=hunter2!\nkey sk-ant-api03-Zx81kQpLmN0aRtYuVwEe7Gh2Qz3A\nmore\n";
    let (kept, safe) = MaskedText::mask_version(older).unwrap();
    assert_eq!(
        kept.render_lines(),
        "line 2 (anthropic key), line 3 (password)"
    );
    let version = VersionHash::of_bytes(older.as_bytes());
    assert_eq!(
        fill_in_secrets(&safe, newer, version).as_deref(),
        Some(older)
    );
    let changed = newer.replace("hunter2!", "hunter3!");
    assert_eq!(fill_in_secrets(&safe, &changed, version), None);
    assert_eq!(fill_in_secrets(&safe, "# B\n", version), None);
}

#[test]
fn scanning_is_linear_in_texts_made_to_be_slow() {
    // Each would take minutes if a scan began again at every candidate.
    for piece in [
        "password=",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\nx: y\n",
        "a://b:c",
        "eyJhbGciOiJIUzI1.",
        "sk-ant-",
        "Bearer ",
        "authorization: ",
        "-",
        "=",
        ":",
        "\"password\":\"",
        "SG.",
        "12345678:AA",
    ] {
        let text = piece.repeat(200_000 / piece.len());
        let _ = mask_secrets(&text);
    }
}

#[test]
fn every_prefix_passes_the_two_byte_filter() {
    for prefix in formats::format_prefixes().chain(["eyJ"]) {
        assert!(
            formats::begins_format(prefix.as_bytes()[0], prefix.as_bytes()[1]),
            "{prefix}"
        );
    }
}

#[test]
fn a_megabyte_of_text_without_secrets_is_left_as_it_is() {
    let prose = "She put the key on the table, and nobody asked: who had the other one? It was late (after ten).\n";
    for (name, paragraph) in [
        ("prose", prose.to_owned()),
        ("lookalikes", HARMLESS.join("\n\n")),
    ] {
        let text = paragraph.repeat(1_048_576 / paragraph.len() + 1);
        let begun = std::time::Instant::now();
        let found = find_secrets(&text);
        // Printed, not asserted: a time depends on the machine.
        println!("{name}: {} bytes in {:?}", text.len(), begun.elapsed());
        assert!(found.is_empty());
    }
}

proptest! {
    #[test]
    fn any_text_is_masked_without_panic_and_masking_twice_changes_nothing(text in "\\PC*") {
        let once = masked(&text);
        prop_assert_eq!(masked(&once), once.clone());
    }

    #[test]
    fn pieces_of_secrets_in_any_order_are_masked_once_and_for_all(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "sk-ant-", "sk-", "ghp_", "password", "=", ":", "\"", " ", "\n", "://", "@", "-----BEGIN", " PRIVATE KEY-----",
            "-----END", "Bearer", "Authorization", "abc123XYZ", "0123456789abcdef", "eyJ", ".", "SG.", "…", "é", "\\", "[masked ",
            "]", "token", "AA", "tl_", "hunter2!", "-", "_", "/",
        ]), 0..40)
    ) {
        let text: String = pieces.concat();
        let once = masked(&text);
        prop_assert_eq!(masked(&once), once.clone());
        let found = find_secrets(&text);
        prop_assert!(once.len() <= text.len() + found.len() * 48);
        prop_assert!(found.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
    }

    #[test]
    fn a_secret_between_any_two_texts_is_gone(
        before in "[ -~é\n]{0,40}[ \n(\"]", after in "[ \n,)\"][ -~é\n]{0,40}", index in 0..SECRETS.len(),
    ) {
        let (secret, _) = SECRETS[index];
        let output = masked(&format!("{before}{secret}{after}"));
        prop_assert!(!output.contains(secret), "{}", output);
    }
}
