import { createTransport } from 'nodemailer'

import type { Log } from '../log.ts'
import type { MailSettings } from './mail-settings.ts'

export type Mail = { to: string; subject: string; text: string; html: string }

export type Mailer = {
  /** Whether the server took it, within some seconds; never rejects: why not stands in the log. */
  send(mail: Mail): Promise<boolean>
  /** Waits for those under way. */
  close(): Promise<void>
}

const CONNECT_MS = 5_000
const SILENT_MS = 10_000
/** A whole mail, however slowly the server answers. */
const WHOLE_MS = 20_000
/** Under way at a time; more are not sent. */
const AT_ONCE = 20

/**
 * Sends by the operator's own SMTP server, whose certificate must be good. It is
 * named in the settings, as the database is, and by no stranger: so it may have a
 * private address, and does not pass the address guard.
 */
export function createMailer(
  { host, port, secure, requireTls, auth, from }: MailSettings,
  log: Log,
  times: { connectMs: number; silentMs: number; wholeMs: number } = {
    connectMs: CONNECT_MS,
    silentMs: SILENT_MS,
    wholeMs: WHOLE_MS,
  },
  ca?: string,
): Mailer {
  const transport = createTransport({
    host,
    port,
    secure,
    requireTLS: requireTls,
    ...(auth && { auth }),
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2', ...(ca !== undefined && { ca }) },
    connectionTimeout: times.connectMs,
    dnsTimeout: times.connectMs,
    greetingTimeout: times.silentMs,
    socketTimeout: times.silentMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const underWay = new Set<Promise<unknown>>()

  async function deliver({ to, subject, text, html }: Mail): Promise<boolean> {
    // Nobody gets lines into a head: what an address is has been checked, and is here once more.
    if (/[\r\n\0<>,;"]/.test(to) || /[\r\n\0]/.test(subject)) {
      log.warn('a mail was not sent: its address or subject has characters that belong to a head')
      return false
    }
    if (underWay.size >= AT_ONCE) {
      log.warn('a mail was not sent: too many are under way')
      return false
    }
    const sending = transport.sendMail({
      from,
      to: { name: '', address: to },
      subject,
      text,
      html,
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
    underWay.add(sending)
    const { promise: late, resolve } = Promise.withResolvers<'late'>()
    const timer = setTimeout(() => resolve('late'), times.wholeMs)
    try {
      if ((await Promise.race([sending, late])) !== 'late') return true
      log.warn({ host, port }, 'a mail was not sent: the server took too long')
      return false
    } catch (error) {
      // Without the address: who has an account is no business of a log.
      log.warn({ host, port, reason: reasonOf(error) }, 'a mail was not sent')
      return false
    } finally {
      clearTimeout(timer)
      void sending.catch(() => {}).finally(() => underWay.delete(sending))
    }
  }

  return {
    send: deliver,
    async close() {
      await Promise.allSettled(underWay)
      transport.close()
    },
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  const status = error instanceof Error && 'responseCode' in error ? ` ${String(error.responseCode)}` : ''
  return code + status
}
