import { roleWords } from '@prepaint/contract/role-words.ts'
import type { Role } from '@prepaint/contract/roles.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { Transporter } from 'nodemailer'
import { type Brand, compose, type Letter } from './letter.ts'
import type { MailSettings } from './mail-settings.ts'

export type Mail = Letter & {
  to: string
  messageId?: string
  /** The `messageId` of the e-mail that this one answers. */
  answers?: string | null
  /** Shown as the sender, with the operator's address; null: the operator's own name. */
  senderName?: string | null
  headers?: Record<string, string>
}

/** The server accepted it, refused it for good (5xx for this recipient or this message), or sending failed. */
type MailOutcome = 'sent' | 'refused' | 'failed'

const TIMES = { connectMs: 5_000, silentMs: 10_000, wholeMs: 20_000 }
/** Concurrent e-mails, as many as a node sends notifications at once; more are refused. */
const AT_ONCE = 32

/** What sends e-mails. A test may keep them instead. */
export interface MailSender {
  send(mail: Mail): Promise<MailOutcome>
}

/** Sends e-mail by the operator's SMTP server. */
export class Mailer implements MailSender {
  readonly #transport: Transporter
  readonly #settings: MailSettings
  readonly #log: Log
  readonly #wholeMs: number
  readonly #underWay = new Set<Promise<unknown>>()

  private constructor(transport: Transporter, settings: MailSettings, log: Log, wholeMs: number) {
    this.#transport = transport
    this.#settings = settings
    this.#log = log
    this.#wholeMs = wholeMs
  }

  /**
   * The server's certificate must be valid. Bypasses the address guard, as the operator's server may have a private
   * address. Loads the library here, because most nodes do not need it.
   */
  static async start(settings: MailSettings, log: Log, times = TIMES, ca?: string): Promise<Mailer> {
    const { createTransport } = await import('nodemailer')
    const { host, port, secure, requireTls, auth } = settings
    const transport = createTransport({
      host,
      port,
      secure,
      requireTLS: requireTls,
      auth: auth ?? undefined,
      tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2', ca },
      connectionTimeout: times.connectMs,
      dnsTimeout: times.connectMs,
      greetingTimeout: times.silentMs,
      socketTimeout: times.silentMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    return new Mailer(transport, settings, log, times.wholeMs)
  }

  /** Never rejects: errors are logged. */
  async send({
    to,
    subject,
    text,
    html,
    messageId,
    answers = null,
    senderName = null,
    headers = {},
  }: Mail): Promise<MailOutcome> {
    const { host, port, from } = this.#settings
    // Prevents header injection, in addition to earlier validation.
    if (/[\r\n\0<>,;"]/.test(to) || /[\r\n\0]/.test(subject) || /[\r\n\0<>"]/.test(senderName ?? '')) {
      this.#log.warn(
        'an e-mail was not sent: its address, subject or sender has characters that are not allowed in a header',
      )
      return 'refused'
    }
    if (this.#underWay.size >= AT_ONCE) {
      this.#log.warn('an e-mail was not sent: too many are being sent')
      return 'failed'
    }
    const sending = this.#transport.sendMail({
      from: senderName === null ? from : { name: senderName, address: from.address },
      to: { name: '', address: to },
      subject,
      text,
      html,
      messageId,
      inReplyTo: answers ?? undefined,
      references: answers ?? undefined,
      headers: { ...headers, 'Auto-Submitted': 'auto-generated' },
    })
    this.#underWay.add(sending)
    try {
      if ((await within(this.#wholeMs, sending, 'late')) !== 'late') return 'sent'
      this.#log.warn({ host, port }, 'an e-mail was not sent: the server took too long')
      return 'failed'
    } catch (error) {
      // The log must not reveal who has an account.
      this.#log.warn({ host, port, reason: reasonOf(error) }, 'an e-mail was not sent')
      return isForGood(error) ? 'refused' : 'failed'
    } finally {
      void sending.catch(() => {}).finally(() => this.#underWay.delete(sending))
    }
  }

  /** Waits for the e-mails that are being sent. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#underWay)
    this.#transport.close()
  }
}

/** Errors after `AUTH` or `MAIL FROM` are about our settings, so they are not for good. */
function isForGood(error: unknown): boolean {
  const { responseCode, command } = error as { responseCode?: unknown; command?: unknown }
  return Number(responseCode) >= 500 && (command === 'RCPT TO' || command === 'DATA')
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  const status = error instanceof Error && 'responseCode' in error ? ` ${String(error.responseCode)}` : ''
  return code + status
}

/** `url` contains the recipient's token; `endsAt` is ISO 8601 UTC. */
export type SignInLetter = { to: string; url: string; endsAt: string } & (
  | { kind: 'invitation' | 'reset' }
  | {
      kind: 'member'
      account: string
      invitedBy: string
      role: Role
      domains: readonly string[] | null
      look: Look
    }
)

/** How letters of an account look, and who sends them. */
export type Look = { brand: Brand | null; senderName: string | null }

type Words = { subject: string; lines: string[]; button: string; last: string }

function wordsOf(letter: SignInLetter): Words {
  switch (letter.kind) {
    case 'invitation':
      return {
        subject: 'Your Prepaint account',
        lines: [
          'You are invited to Prepaint, with an account of your own. In it you add sites, and crawlers get rendered pages of them.',
        ],
        button: 'Set a password',
        last: 'If you did not expect an invitation, ignore this e-mail: no account is created.',
      }
    case 'member': {
      const { brand } = letter.look
      const where = brand === null || brand.showPrepaint ? ' on Prepaint' : ''
      return {
        subject:
          where === '' ? `You are invited to ${brand?.name}` : 'You are invited to an account on Prepaint',
        lines: [
          `${letter.invitedBy} invites you to join the account "${letter.account}"${where}, as ${letter.role}.`,
          `You will be able to ${roleWords(letter.role, letter.domains)}.`,
        ],
        button: 'See the invitation',
        last: 'If you did not expect an invitation, ignore this e-mail: you join nothing.',
      }
    }
    case 'reset':
      return {
        subject: 'Reset your Prepaint password',
        lines: ['A new password was requested for your Prepaint account. Use this link to set it:'],
        button: 'Set a new password',
        last: 'If you did not request it, ignore this e-mail: your password stays the same.',
      }
  }
}

/** Tells an owner that the account is going to be deleted. `url`: where that can be cancelled. */
export function writeDeletion(letter: {
  to: string
  account: string
  deletesAt: string
  url: string
  look: Look
}): Mail {
  const { to, account, deletesAt, url, look } = letter
  const at = `${deletesAt.slice(0, 16).replace('T', ' ')} UTC`
  const lines = [
    `The account "${account}" will be deleted at ${at}, with its domains, pages, keys and figures.`,
    'Until then everything goes on, and an owner can cancel it.',
  ]
  const foot = [{ text: 'You get this e-mail because you are an owner of the account.' }]
  const blocks = [{ lines, link: { url, label: 'See the account' } }]
  return {
    to,
    senderName: look.senderName,
    ...compose(`${account} will be deleted`, blocks, foot, look.brand),
  }
}

export function write(letter: SignInLetter): Mail {
  const { to, url, endsAt } = letter
  const { subject, lines, button, last } = wordsOf(letter)
  const ends = `The link works once, until ${endsAt.slice(0, 16).replace('T', ' ')} UTC.`
  const foot = [{ text: 'Or copy this link:', link: { url, label: url } }, { text: `${ends} ${last}` }]
  const { brand, senderName } = letter.kind === 'member' ? letter.look : NO_LOOK
  return {
    to,
    senderName,
    ...compose(subject, [{ lines, link: { url, label: button } }], foot, brand),
  }
}

const NO_LOOK: Look = { brand: null, senderName: null }
