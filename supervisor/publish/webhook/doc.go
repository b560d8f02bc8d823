// Package webhook sends updates to an address on the web, as JSON by POST.
//
// The body is an object with type, subject, project, run_id, title, state, percent, body,
// at and final; type is "work.updated", for the last update "work.ended". What the update
// tells of is named by subject and project together: two repositories may have subjects of
// one name. State is running, done, failed, stopped or needs-human. The header
// Idempotency-Key names the update and is the same when it is sent again. With a secret
// the request is signed in the manner of the Standard Webhooks specification: webhook-id
// is that key, webhook-timestamp the time of sending in seconds since 1970, and
// webhook-signature "v1," and the base64 of the HMAC-SHA256 over id, time and body with
// dots between them. A secret that begins with "whsec_" is base64 after that, another one
// is taken as it is.
//
// Guarantees:
//
//   - What the target answers is read up to 64 KiB. It only adds to what its status says: when
//     it breaks off or does not come before ctx ends, the update counts as taken or not
//     all the same.
//   - A redirect is followed only when it keeps the method and the host; every other one is
//     a permanent error, since the address has to be changed by a person.
//   - A 409 that names the key is an update the target has already. A 409 without it is
//     a target that is still busy with it, and temporary.
//   - Neither the secret nor the address is in an error.
//
// When ctx ends, or the answer is lost, the target may have taken the update: it is to be
// sent again with the same key.
//
// It refuses a secret that begins with "whsec_" and is no base64.
package webhook
