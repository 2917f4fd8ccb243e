import { type Problem, type ProblemPath, problemText } from './problem.ts'

/** All errors that clients of the HTTP interface see. The texts are part of the contract. */
const PUBLIC_ERRORS = {
  missing_domain_fields: { status: 400, text: 'Missing required fields: custom_domain, origin_url' },
  invalid_custom_domain: { status: 400, text: (reason: string) => `Invalid custom domain: ${reason}` },
  invalid_origin: { status: 400, text: (reason: string) => `Invalid origin URL: ${reason}` },
  invalid_via: { status: 400, text: (reason: string) => `Invalid via URL: ${reason}` },
  invalid_endpoint: { status: 400, text: (reason: string) => `Invalid endpoint URL: ${reason}` },
  invalid_field: { status: 400, text: (words: string) => words },
  invalid_json: { status: 400, text: 'Invalid JSON body' },
  // A code that proves that an authenticator app is set up.
  wrong_new_code: { status: 400, text: 'Wrong code' },
  malformed_url: { status: 400, text: 'Malformed URL' },
  malformed_request: { status: 400, text: 'Malformed request' },
  webhook_body_missing: { status: 400, text: 'Provide "urls" array or "all": true' },
  too_many_to_purge: { status: 400, text: 'Too many pages match (maximum 100000 at once)' },
  too_many_to_refresh: { status: 400, text: 'Too many pages match (maximum 10000 at once)' },
  webhook_no_valid_paths: { status: 400, text: 'No valid URL paths (must start with /)' },
  webhook_too_many_urls: { status: 400, text: 'Too many URLs (maximum 20 per request)' },
  api_key_required: { status: 401, text: 'API key required' },
  invalid_api_key: { status: 401, text: 'Invalid API key' },
  // Told as the one above; it worked once, so it is no failed attempt.
  ended_api_key: { status: 401, text: 'Invalid API key' },
  sign_in_required: { status: 401, text: 'Sign in first' },
  share_link_invalid: { status: 401, text: 'This link is used, expired or invalid' },
  wrong_credentials: { status: 401, text: 'Wrong e-mail or password' },
  wrong_code: { status: 401, text: 'Wrong code' },
  sign_in_again: { status: 401, text: 'Sign in again' },
  passkey_not_accepted: { status: 401, text: 'Passkey not accepted' },
  webhook_header_missing: { status: 401, text: 'Missing or invalid Authorization header' },
  invalid_token: { status: 401, text: 'Invalid token' },
  plan_without_api: { status: 403, text: 'API access requires Agency plan or above' },
  plan_without_webhooks: { status: 403, text: 'Webhook refresh requires Agency+ plan' },
  plan_without_endpoints: { status: 403, text: 'Event endpoints require Agency+ plan' },
  endpoint_limit: { status: 403, text: 'Endpoint limit reached (5 per account)' },
  cross_site: { status: 403, text: 'Request from another site refused' },
  account_suspended: { status: 403, text: 'This account is suspended: ask the operator' },
  own_suspension: { status: 403, text: 'You cannot suspend your own account' },
  own_role: { status: 403, text: 'You cannot change your own role' },
  no_account: { status: 403, text: 'You are in no account' },
  role_forbidden: { status: 403, text: 'Your role does not allow this' },
  role_limited: { status: 403, text: 'Your role is limited to named domains' },
  member_limit: { status: 403, text: 'Member limit reached (200 per account)' },
  invitation_limit: { status: 403, text: 'Invitation limit reached (50 per account)' },
  // `confirm`: the ways in which the person can prove again who it is.
  confirm_needed: { status: 403, text: 'Confirm that it is you' },
  second_factor_required: { status: 403, text: 'This account requires a second factor' },
  passkey_limit: { status: 403, text: 'Passkey limit reached (20 per person)' },
  operator_required: { status: 403, text: 'Only operators may do this' },
  wrong_password: { status: 403, text: 'Wrong password' },
  // While somebody who is signed in confirms who it is.
  wrong_confirm_code: { status: 403, text: 'Wrong code' },
  confirm_passkey_not_accepted: { status: 403, text: 'Passkey not accepted' },
  key_forbidden: { status: 403, text: 'This API key does not allow this' },
  key_limited: { status: 403, text: 'This API key is limited to named domains' },
  share_forbidden: { status: 403, text: 'This link does not allow this' },
  share_link_limit: { status: 403, text: 'Share link limit reached (100 per account)' },
  template_limit: { status: 403, text: 'Template limit reached (50 per account)' },
  site_limit: { status: 403, text: 'Site limit reached for your subscription plan' },
  domain_inactive: { status: 403, text: 'Domain is not active' },
  render_limit: { status: 403, text: 'Monthly render limit reached' },
  api_key_limit: { status: 403, text: 'API key limit reached (5 per account)' },
  webhook_token_limit: { status: 403, text: 'Webhook token limit reached (5 per domain)' },
  domain_not_found: { status: 404, text: 'Domain not found' },
  page_not_found: { status: 404, text: 'Page not found' },
  incident_not_found: { status: 404, text: 'Incident not found' },
  inspection_not_found: { status: 404, text: 'Inspection not found' },
  rule_try_not_found: { status: 404, text: 'Rule try not found' },
  certificate_not_found: { status: 404, text: 'Certificate not found' },
  endpoint_not_found: { status: 404, text: 'Endpoint not found' },
  delivery_not_found: { status: 404, text: 'Delivery not found' },
  version_not_found: { status: 404, text: 'Version not found' },
  job_not_found: { status: 404, text: 'Job not found' },
  account_not_found: { status: 404, text: 'Account not found' },
  person_not_found: { status: 404, text: 'Person not found' },
  template_not_found: { status: 404, text: 'Template not found' },
  member_not_found: { status: 404, text: 'Member not found' },
  invitation_not_found: { status: 404, text: 'Invitation not found' },
  api_key_not_found: { status: 404, text: 'API key not found' },
  webhook_token_not_found: { status: 404, text: 'Webhook token not found' },
  // A way to sign in that is not configured, or closed because single sign-on is the only one.
  sign_in_not_found: { status: 404, text: 'Sign-in not found' },
  link_not_found: { status: 404, text: 'This link is used, expired or invalid' },
  share_link_not_found: { status: 404, text: 'Share link not found' },
  session_not_found: { status: 404, text: 'Session not found' },
  passkey_not_found: { status: 404, text: 'Passkey not found' },
  not_found: { status: 404, text: 'Not found' },
  method_not_allowed: { status: 405, text: 'Method not allowed' },
  request_timeout: { status: 408, text: 'Request took too long' },
  account_exists: { status: 409, text: 'Account already exists' },
  person_not_proven: {
    status: 409,
    text: 'Nobody has proven that this address is theirs: have them use a reset link first',
  },
  second_factor_exists: { status: 409, text: 'A second factor is set up already' },
  no_second_factor: { status: 409, text: 'Set up a second factor first' },
  own_factor_missing: { status: 409, text: 'Set up a second factor for yourself first' },
  passkeys_need_host: { status: 409, text: 'Passkeys need a host name: set PREPAINT_PUBLIC_URL' },
  email_taken: { status: 409, text: 'This address has a login already' },
  mail_needed: { status: 409, text: 'E-mail is not configured: ask the operator' },
  last_owner: { status: 409, text: 'The account needs an owner: make another member owner first' },
  already_member: { status: 409, text: 'Already a member' },
  already_invited: { status: 409, text: 'Already invited: resend or revoke that invitation' },
  other_invited: { status: 409, text: (email: string) => `This invitation is for ${email}` },
  delivery_waiting: { status: 409, text: 'Delivery is still waiting' },
  no_deletion: { status: 409, text: 'No deletion was requested' },
  warm_not_under_way: { status: 409, text: 'No warm is under way' },
  domain_exists: { status: 409, text: 'Domain already exists. Use PUT to update a domain you own.' },
  changed_meanwhile: { status: 412, text: 'It was changed since it was read' },
  redirects_too_large: { status: 413, text: 'Request body too large (maximum 8 MiB)' },
  body_too_large: { status: 413, text: 'Request body too large (maximum 1 MiB)' },
  content_type: { status: 415, text: 'Content-Type must be application/json' },
  too_many_failures: { status: 429, text: 'Too many failed attempts, try again later' },
  too_many_requests: { status: 429, text: 'Too many requests at once from your address' },
  too_many_connections: { status: 429, text: 'Too many connections from your address' },
  too_many_streams: { status: 429, text: 'Too many event streams (20 per account)' },
  too_many_link_streams: { status: 429, text: 'Too many event streams (5 per share link)' },
  too_many_inspections: { status: 429, text: 'Too many inspections at once (5 per account)' },
  inspection_rate: { status: 429, text: 'Inspection limit reached (60 per hour)' },
  rule_try_limit: { status: 429, text: 'Rule try limit reached (200 pages per domain and day)' },
  too_many_resets: { status: 429, text: 'Too many requests for a new password, try again later' },
  too_many_invitations: { status: 429, text: 'Too many invitations, try again later' },
  too_many_email_changes: { status: 429, text: 'Too many changes of the address, try again later' },
  too_many_checks: { status: 429, text: 'Too many checks, try again in a minute' },
  account_busy: { status: 429, text: 'Too many requests of this account at once, try again in a moment' },
  export_rate: { status: 429, text: 'Too many exports, try again in a minute' },
  delivery_rate: { status: 429, text: 'Rate limit exceeded (30 tests and replays/minute)' },
  webhook_rate: { status: 429, text: 'Rate limit exceeded (10 requests/hour)' },
  headers_too_large: { status: 431, text: 'Request headers too large' },
  provider_not_reached: {
    status: 502,
    text: 'The provider of single sign-on cannot be reached, try again later',
  },
  origin_not_reached: { status: 502, text: 'Origin cannot be reached' },
  internal: { status: 500, text: 'Internal error' },
  database_unavailable: { status: 503, text: 'Database is unavailable, try again later' },
  bodies_unavailable: { status: 503, text: 'The store of page bodies is unavailable, try again later' },
  events_unavailable: { status: 503, text: 'Live updates are not available now, try again later' },
  not_ready: { status: 503, text: 'Not ready' },
  certificates_unavailable: { status: 503, text: 'Certificates cannot be stored at this node' },
  secrets_unavailable: { status: 503, text: 'Secrets cannot be stored at this node' },
  domain_not_proven: { status: 503, text: 'Domain is not proven yet' },
  queue_full: { status: 503, text: 'Render queue is full, try again later' },
} as const satisfies Record<string, { status: number; text: string | ((word: string) => string) }>

export type ErrorCode = keyof typeof PUBLIC_ERRORS

/** All codes that answers have in `Prepaint-Error`. They do not change. */
export const ERROR_CODES = (Object.keys(PUBLIC_ERRORS) as ErrorCode[]).filter(
  (code) => codeTold(code) === code,
)

/** Programs go by it: several errors may have the same status, and texts are for people. */
export const ERROR_HEADER = 'Prepaint-Error'

type Details = ErrorOptions & {
  word?: string
  fields?: Record<string, unknown>
  /** The fields of the request that are refused. */
  problems?: readonly Problem[]
  headers?: Record<string, string>
  /** Stands in the log only. */
  detail?: string
}

/** An error for the client, with a text from the table only. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly word: string
  readonly fields: Record<string, unknown>
  readonly problems: readonly Problem[]
  readonly headers: Record<string, string>

  constructor(code: ErrorCode, details: Details = {}) {
    super(details.detail ?? code, details)
    this.name = 'AppError'
    this.code = code
    this.word = details.word ?? ''
    this.fields = details.fields ?? {}
    this.problems = details.problems ?? []
    this.headers = details.headers ?? {}
  }
}

/** A field of the request is refused. The text is a sentence that starts with the field. */
export function invalidField(path: ProblemPath, message: string, options: ErrorOptions = {}): AppError {
  const problem = { path, message }
  return new AppError('invalid_field', { ...options, word: problemText(problem), problems: [problem] })
}

type PublicError = {
  status: number
  body: { error: string; [field: string]: unknown }
  headers: Record<string, string>
}

/** Converts any error to a response. Unknown errors reveal nothing. */
export function publicError(error: unknown): PublicError {
  const known = error instanceof AppError ? error : new AppError('internal')
  const { status, text } = statusAndText(known.code, known.word)
  const body: PublicError['body'] = { error: text, ...known.fields }
  if (known.problems.length > 0) body['problems'] = known.problems
  return { status, body, headers: { [ERROR_HEADER]: codeTold(known.code), ...known.headers } }
}

/** Nobody is told that a key was valid once. */
function codeTold(code: ErrorCode): ErrorCode {
  return code === 'ended_api_key' ? 'invalid_api_key' : code
}

/** What clients are shown. `word` fills the gap that some texts have. */
export function statusAndText(code: ErrorCode, word: string): { status: number; text: string } {
  const { status, text } = PUBLIC_ERRORS[code]
  return { status, text: typeof text === 'string' ? text : text(word) }
}

/** Use it in the `default` of a switch over a union: a new member fails to compile. */
export function unreachable(value: never): never {
  throw new Error(`Unreachable: ${JSON.stringify(value)}`)
}
