import { compose } from './letter.ts'
import type { Mail } from './mailer.ts'

/** What became of the ways in which a person signs in. */
export type FactorChange =
  | { kind: 'totp_added' | 'totp_removed' | 'recovery_code_used' | 'recovery_codes_renewed' }
  | { kind: 'passkey_added' | 'passkey_removed'; name: string }

function lineOf(change: FactorChange): string {
  switch (change.kind) {
    case 'totp_added':
      return 'An authenticator app was set up for your Prepaint login. Sign-ins now need its codes.'
    case 'totp_removed':
      return 'The authenticator app of your Prepaint login was removed.'
    case 'recovery_code_used':
      return 'A recovery code was used to sign in to your Prepaint login. It does not work again.'
    case 'recovery_codes_renewed':
      return 'New recovery codes were made for your Prepaint login. Those of before no longer work.'
    case 'passkey_added':
      return `The passkey "${change.name}" was added to your Prepaint login.`
    case 'passkey_removed':
      return `The passkey "${change.name}" was removed from your Prepaint login.`
  }
}

/** `address`: of the client that did it. */
export function writeNotice(to: string, change: FactorChange, from: { atMs: number; address: string }): Mail {
  const at = new Date(from.atMs).toISOString().slice(0, 16).replace('T', ' ')
  const where = `It was done at ${at} UTC from ${from.address}.`
  const foot = 'If it was not you, change your password at once, and tell the operator of your installation.'
  return {
    to,
    ...compose('Your Prepaint login was changed', [{ lines: [lineOf(change), where] }], [{ text: foot }]),
  }
}

/** Tells an owner that the proof of a domain is there no more. `url`: where it can be looked for again. */
export function writeProofLost(letter: { to: string; domain: string; url: string }): Mail {
  const { to, domain, url } = letter
  const lines = [
    `The proof that ${domain} is yours was missing twice, a day apart: the DNS record, the file or the tag is gone.`,
    'The domain is served on. Put the proof back, so that nobody else can claim the name.',
  ]
  const foot = [{ text: 'You get this e-mail because you are an owner of the account.' }]
  return {
    to,
    ...compose(`The proof of ${domain} is lost`, [{ lines, link: { url, label: 'See the proof' } }], foot),
  }
}

/** Domains that a letter names. */
const NAMED = 20

/** Tells an owner that existing domains must be proven until then. `url`: the list of domains. */
export function writeProofsAsked(letter: {
  to: string
  domains: readonly string[]
  deadlineMs: number
  url: string
}): Mail {
  const { to, domains, deadlineMs, url } = letter
  const until = `${new Date(deadlineMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  const more = domains.length > NAMED ? [`and ${domains.length - NAMED} more`] : []
  const lines = [
    `The operator of your installation now asks for a proof that names are yours. These domains are served without one until ${until}:`,
    ...domains.slice(0, NAMED),
    ...more,
    'The page of each domain shows the DNS record, file or tag that proves it.',
  ]
  const foot = [{ text: 'You get this e-mail because you are an owner of the account.' }]
  return {
    to,
    ...compose(
      'Prove that your domains are yours',
      [{ lines, link: { url, label: 'See the domains' } }],
      foot,
    ),
  }
}

/** Two letters about a change of address: the new one confirms it, the old one can undo it. `url` has the token. */
export function writeEmailChange(
  kind: 'confirm' | 'undo',
  { to, other, url, endsAt }: { to: string; other: string; url: string; endsAt: string },
): Mail {
  const until = `${endsAt.slice(0, 16).replace('T', ' ')} UTC`
  if (kind === 'confirm') {
    const line = `The Prepaint login of ${other} is to get this address:`
    const last = `The link works once, until ${until}. If you did not ask for it, ignore this e-mail: nothing changes.`
    return {
      to,
      ...compose(
        'Confirm your new address',
        [{ lines: [line], link: { url, label: 'See the change' } }],
        [{ text: last }],
      ),
    }
  }
  const line = `Your Prepaint login is to get the address ${other}. If you did not ask for that, undo it:`
  const last = `The link works once, until ${until}. It gives your login this address again, and signs it out everywhere.`
  return {
    to,
    ...compose(
      'Your Prepaint address is being changed',
      [{ lines: [line], link: { url, label: 'Undo the change' } }],
      [{ text: last }],
    ),
  }
}
