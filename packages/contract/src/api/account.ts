import { z } from 'zod'
import { RIGHTS, type Right, ROLES } from '../roles.ts'
import { apiSchema } from './api-schema.ts'

export const roleSchema = z.enum(ROLES).describe('Each may do all that the ones before it may do')

export const meSchema = apiSchema(
  'Me',
  z.object({
    id: z.int(),
    name: z.string().describe('Of the account'),
    email: z.string().describe('Of the person'),
    role: roleSchema,
    domains: z
      .array(z.string())
      .nullable()
      .describe('Names of the domains that the member is limited to; null: all of the account'),
    plan: z.object({
      name: z.string(),
      site_limit: z.int().nullable().describe('null: unlimited'),
      monthly_render_limit: z.int().describe('For each domain'),
      api_keys: z.boolean(),
      webhooks: z.boolean(),
    }),
  }),
)

export type Me = z.infer<typeof meSchema>

export const personSchema = apiSchema(
  'Person',
  z.object({
    id: z.int(),
    email: z.string(),
    name: z.string().nullable(),
    locale: z.string().nullable(),
    is_operator: z.boolean().describe('May see and change all accounts'),
    second_factor: z.boolean(),
  }),
)

export type PersonView = z.infer<typeof personSchema>

const signedInSchema = z.object({
  account: meSchema.nullable().describe('null: the person is in no account, or in none that it can enter'),
  person: personSchema,
  set_up: z
    .string()
    .optional()
    .describe('The account requires a second factor, and this is where to set it up'),
})

const passwordSchema = z.string().min(1).max(1_000)
export const emailSchema = z.string().min(1).max(254)

export const SIGN_IN_WAYS = ['password', 'passkey', 'sso'] as const

export const sessionSchema = apiSchema(
  'Session',
  z.object({
    id: z.int(),
    current: z.boolean().describe('The session of this request'),
    created_at: z.string(),
    used_at: z.string().describe('Updated once a day'),
    address: z.string().describe('Client IP at sign-in; of IPv6 the /64'),
    user_agent: z.string(),
    way: z.enum(SIGN_IN_WAYS).describe('How it began; `sso`: by the single sign-on of the installation'),
    second_factor: z.boolean().describe('Whether the sign-in needed a second factor'),
  }),
)

export const signInBody = z.object({ email: emailSchema, password: passwordSchema })

export const signInAnswer = signedInSchema

/** Instead of a session: the password was right, and the second factor is awaited. */
export const secondFactorAwaitedAnswer = z.object({
  second_factor: z.object({
    token: z.string().describe('For `POST /api/session/second-factor`, five times at most'),
    methods: z.array(z.enum(['totp', 'passkey', 'recovery'])),
    expires_at: z.string(),
  }),
})

/** What the dashboard shows before anybody has signed in. */
export const installationAnswer = z.object({
  has_account: z.boolean(),
  single_sign_on: z
    .object({ name: z.string(), is_only: z.boolean().describe('No passwords and no passkeys') })
    .nullable(),
})

const codeSchema = z.string().min(1).max(100)

/** What a browser made with a passkey. The library that checks it knows its form. */
const passkeyResponseSchema = z
  .looseObject({ id: z.string(), response: z.looseObject({ clientDataJSON: z.string() }) })
  .describe('What `navigator.credentials` returned, as JSON (WebAuthn)')

const tokenSchemaOfSignIn = z.string().min(1).max(200)

export const giveSecondFactorBody = z.object({
  token: tokenSchemaOfSignIn.describe('Of the answer to the sign-in'),
  code: codeSchema.optional().describe('Of the authenticator app'),
  recovery_code: codeSchema.optional(),
  response: passkeyResponseSchema.optional().describe('To options of `POST /api/session/passkey/options`'),
})

/** How a person can prove again who it is. */
export const CONFIRM_WAYS = ['password', 'totp', 'passkey', 'sso'] as const

export const confirmSessionBody = z.object({
  password: passwordSchema.optional(),
  code: codeSchema.optional().describe('Of the authenticator app'),
  token: tokenSchemaOfSignIn.optional().describe('Of `POST /api/session/passkey/options`, with `response`'),
  response: passkeyResponseSchema.optional(),
})

export const passkeySchema = apiSchema(
  'Passkey',
  z.object({
    id: z.int(),
    name: z.string(),
    created_at: z.string(),
    last_used_at: z.string().nullable(),
  }),
)

export const getSecondFactorAnswer = z.object({
  totp: z.boolean().describe('Whether an authenticator app is set up'),
  passkeys: z.array(passkeySchema),
  recovery_codes_left: z.int(),
  required_by: z.array(z.string()).describe('Names of the accounts that require a second factor'),
})

export const startTotpAnswer = z.object({
  secret: z.string().describe('In base32'),
  uri: z.string().describe('`otpauth://totp/...`, for a QR code'),
})

export const confirmTotpBody = z.object({ code: codeSchema })

export const recoveryCodesAnswer = z.object({
  recovery_codes: z.array(z.string()).describe('Shown only once; those of before are gone'),
})

const passkeyOptionsSchema = z
  .looseObject({ challenge: z.string() })
  .describe('For `navigator.credentials`, as JSON')

export const passkeyToAddAnswer = z.object({ options: passkeyOptionsSchema })

export const addPasskeyBody = z.object({
  name: z.string().describe('A name to recognise it by'),
  response: passkeyResponseSchema,
})

export const addPasskeyAnswer = z.object({
  passkey: passkeySchema,
  recovery_codes: z.array(z.string()).optional().describe('With the first factor'),
})

export const renamePasskeyBody = z.object({ name: z.string() })

export const passkeyAnswer = z.object({ passkey: passkeySchema })

export const passkeyToAskAnswer = z.object({ token: z.string(), options: passkeyOptionsSchema })

export const startSsoBody = z.object({
  next: z
    .string()
    .max(2_000)
    .optional()
    .describe('Path of the screen that follows; anything else counts as `/domains`'),
  confirm: z
    .boolean()
    .optional()
    .describe('In a session of single sign-on: prove again who it is, instead of a sign-in'),
})

export const startSsoAnswer = z.object({
  url: z.string().describe('Where the browser goes, within 10 minutes; it comes back by itself'),
})

export const signInByPasskeyBody = z.object({ token: tokenSchemaOfSignIn, response: passkeyResponseSchema })

const policySchema = apiSchema(
  'Policy',
  z.object({
    second_factor: z
      .enum(['optional', 'required'])
      .describe('Whether members need one to enter; sessions by single sign-on do not'),
    session_hours: z
      .int()
      .nullable()
      .describe('How old sessions may be that enter; null: as old as sessions get'),
  }),
)

export const updatePolicyBody = z.object({
  second_factor: z.enum(['optional', 'required'], { error: 'must be optional or required' }).optional(),
  session_hours: z
    .int({ error: 'must be 1 to 720, or null' })
    .min(1, { error: 'must be 1 to 720, or null' })
    .max(720, { error: 'must be 1 to 720, or null' })
    .nullish(),
})

export const policyAnswer = z.object({ policy: policySchema })

export const getSessionAnswer = signedInSchema

export const listSessionsAnswer = z.object({ sessions: z.array(sessionSchema) })

export const endSessionParams = z.object({ id: z.string().describe('The `id` in the list') })

export const signOutEverywhereAnswer = z.object({ ended: z.int() })

const secretFields = {
  id: z.int(),
  name: z.string(),
  hint: z.string().describe('Its first characters'),
  created_at: z.string(),
  last_used_at: z.string().nullable(),
  revoked_at: z.string().nullable(),
}

export const nameField = z.string().describe('A name to recognise it by')

export const secretParams = z.object({ id: z.string().describe('The `id` in the list') })

const rightSchema = z.enum(RIGHTS)
const keyDomainsSchema = z
  .array(z.string())
  .nullable()
  .describe('Names of the domains that it is limited to; null: all of the account, later ones too')

const KEY_DOMAINS_LIMIT = 1_000

export const keySchema = apiSchema(
  'ApiKey',
  z.object({
    ...secretFields,
    state: z.enum(['active', 'expired', 'revoked']),
    expires_at: z.string().nullable(),
    created_by: z.string().nullable().describe('E-mail; null: the command line, or an earlier version'),
    rights: z.array(rightSchema).describe('What it may do'),
    domains: keyDomainsSchema,
  }),
)

export const tokenSchema = apiSchema(
  'WebhookToken',
  z.object({ ...secretFields, state: z.enum(['active', 'revoked']) }),
)

export const listKeysAnswer = z.object({ keys: z.array(keySchema) })

export const createKeyBody = z.object({
  name: nameField,
  expires_at: z.iso
    .datetime({ offset: true, error: 'must be a time such as 2027-01-31T12:00:00Z' })
    .nullish(),
  rights: z
    .custom<Right[]>(isListOfRights, { error: `must be a list of ${RIGHTS.join(', ')}` })
    .optional()
    .meta({ type: 'array', items: { enum: [...RIGHTS] } })
    .describe('What the key may do; default: all. `write` does not include `read`'),
  domains: z
    .array(z.string())
    .min(1, { error: `must have 1 to ${KEY_DOMAINS_LIMIT} names` })
    .max(KEY_DOMAINS_LIMIT, { error: `must have 1 to ${KEY_DOMAINS_LIMIT} names` })
    .nullish()
    .describe('Names of the domains that the key is limited to; default: all of the account, later ones too'),
})

function isListOfRights(value: unknown): boolean {
  return z.array(rightSchema).min(1).safeParse(value).success
}

export const createKeyAnswer = z.object({
  id: z.int(),
  name: z.string(),
  key: z.string(),
  rights: z.array(rightSchema),
  domains: keyDomainsSchema,
})

export const listTokensAnswer = z.object({ tokens: z.array(tokenSchema) })

export const createTokenBody = z.object({ name: nameField })

export const createTokenAnswer = z.object({ id: z.int(), name: z.string(), token: z.string() })

// In the body, because logs and browser histories keep URLs.
const linkTokenSchema = z.string().min(1).max(200).describe('The part of the link after `#`')

export const linkSchema = apiSchema(
  'Link',
  z.object({
    kind: z.enum(['first', 'invitation', 'member', 'reset']),
    email: z.string().nullable().describe('Of the person; null: chosen when the link is used'),
    account: z.object({ name: z.string() }).optional().describe('With `member`: which the person is to join'),
    role: roleSchema.optional(),
    domains: z
      .array(z.string())
      .optional()
      .describe('With `member`: the domains that the person will be limited to; absent: all of the account'),
    invited_by: z.string().optional(),
    expires_at: z.string(),
  }),
)

export const readLinkBody = z.object({ token: linkTokenSchema })

export const readLinkAnswer = z.object({ link: linkSchema })

export const useLinkBody = z.object({
  token: linkTokenSchema,
  email: emailSchema.optional(),
  password: passwordSchema
    .optional()
    .describe('Not needed for an invitation of the address that is signed in'),
})

export const useLinkAnswer = signedInSchema

export const planSchema = apiSchema(
  'Plan',
  z.object({
    name: z.string().describe('In the plan catalogue; a plan that was removed from it allows nothing'),
    sites: z.object({ used: z.int(), limit: z.int().nullable().describe('null: unlimited') }),
    renders: z.object({
      used: z.int().describe('Of all domains in the current UTC month'),
      limit_per_domain: z.int().describe('For each domain and UTC month'),
      stops_at: z.int().describe('120 %: from here on live traffic is proxied to the origin'),
    }),
    api_keys: z.object({ included: z.boolean(), used: z.int().describe('Active keys'), limit: z.int() }),
    webhooks: z.object({
      included: z.boolean(),
      used: z.int().describe('Active tokens of all domains'),
      limit_per_domain: z.int(),
      requests_per_hour: z.int().describe('For each domain, shared by all its tokens'),
      urls_per_request: z.int(),
    }),
    requests: z.object({
      paths_per_refresh: z.int(),
      body_bytes: z.int(),
    }),
  }),
)

export const getPlanAnswer = z.object({ plan: planSchema })

export const changePasswordBody = z.object({ current_password: passwordSchema, new_password: passwordSchema })

export const readPasswordResetAnswer = z.object({ by_mail: z.boolean() })

export const requestPasswordResetBody = z.object({ email: emailSchema })

export const changeEmailBody = z.object({ email: emailSchema })

export const changeEmailAnswer = z.object({})

export const confirmEmailBody = z.object({ token: linkTokenSchema })

export const confirmEmailAnswer = z.object({
  email: z.string().describe('The address that counts now'),
  undone: z.boolean().describe('Whether the link undid a change; all sessions have ended then'),
})
