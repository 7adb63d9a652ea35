//! Signs the decisions a person makes, where signatures are required.

use domain::decision::{
    ALLOWED_SIGNERS_FILE, Decision, SignatureProblem, check_signer, is_signed_when_made,
    signed_content,
};
use domain::fact::Fact;
use domain::policy::SignaturePolicy;
use domain::ports::{NewOperation, SigningFault};

use crate::context::Context;
use crate::failure::Failure;

/// Returns the decision with its author's signature, where it needs one.
///
/// # Errors
/// When there is no key, it is not listed for the author, or the agent refuses.
pub(super) fn sign_decision(ctx: &Context<'_>, decision: Decision) -> Result<Decision, Failure> {
    if ctx.policy.signatures == SignaturePolicy::Off || !is_signed_when_made(&decision.what) {
        return Ok(decision);
    }
    // What is signed is what is written.
    let decision = decision.with_masked_texts();
    let by = &decision.by;
    let key = ctx
        .signatures
        .find_signing_key()
        .map_err(|fault| refuse_unsigned(&decision, fault))?;
    // Before signing: a security key should not be touched for nothing. A decision that would not
    // count here must not be recorded as if it did.
    check_signer(&ctx.policy.signers, by, &key, decision.at).map_err(|problem| {
        let steps = match &problem {
            SignatureProblem::NotListed { .. } if by.is_human() => {
                let name = by.to_string();
                let name = name.strip_prefix("human:").unwrap_or(&name);
                vec![
                    format!("echo '{name} {key}' >> {ALLOWED_SIGNERS_FILE}"),
                    "tl policy accept   # in your own terminal".to_owned(),
                ]
            }
            _ => vec!["ask a person whose key is listed to decide".to_owned()],
        };
        let why = problem.to_string();
        refuse_unsigned(&decision, SigningFault { why, steps })
    })?;
    let signature = ctx
        .signatures
        .sign_content(signed_content(&decision).as_bytes())
        .map_err(|fault| refuse_unsigned(&decision, fault))?;
    Ok(Decision {
        signature: Some(signature),
        ..decision
    })
}

/// Refuses a verdict where decisions are not files and so cannot be signed: otherwise the setting
/// that says where decisions live would switch the signatures off.
pub(super) fn refuse_unsignable(
    ctx: &Context<'_>,
    operation: &NewOperation,
) -> Result<(), Failure> {
    let decides = operation.facts.iter().any(|fact| {
        matches!(
            fact,
            Fact::ApprovalChanged { .. } | Fact::CondemnationChanged { .. }
        )
    });
    if ctx.policy.signatures == SignaturePolicy::Off || !decides {
        return Ok(());
    }
    Err(Failure::refused(
        "signatures are required (policy.signatures), and decisions are not files here: they live \
         in the store (no git repository, a shared store, or git.decisions = \"local\")",
    )
    .with_step("tl config set git.decisions files")
    .with_step("tl config set policy.signatures off   # then: tl policy accept"))
}

fn refuse_unsigned(decision: &Decision, fault: SigningFault) -> Failure {
    let failure = Failure::refused(format!(
        "the {} must be signed (policy.signatures is `required`), and {}",
        decision.describe_briefly(),
        fault.why
    ));
    fault.steps.into_iter().fold(failure, Failure::with_step)
}
