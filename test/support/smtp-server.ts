import net from 'node:net'
import { createInterface } from 'node:readline'
import tls from 'node:tls'
import { listening } from './loopback.ts'

// An SMTP server on loopback that keeps received mail (RFC 5321, RFC 3207, as far as a client needs it).

export type TestSmtpOptions = {
  tls?: { key: string; cert: string }
  rcpt?: string
  silent?: boolean
}

export async function startTestSmtp(options: TestSmtpOptions = {}) {
  const mails: { from: string; to: string[]; data: string; isEncrypted: boolean; user: string | null }[] = []
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    if (options.silent === true) return
    socket.write('220 test ESMTP\r\n')
    converse(socket, false).catch(() => {})
  })

  async function converse(socket: net.Socket, isEncrypted: boolean): Promise<void> {
    let user: string | null = null
    let from = ''
    let to: string[] = []
    let data: string[] | null = null
    const say = (...lines: string[]) => socket.write(lines.map((line) => `${line}\r\n`).join(''))
    for await (const line of createInterface({ input: socket })) {
      const address = /<(.*)>/.exec(line)?.[1] ?? ''
      if (data !== null) {
        if (line !== '.') {
          data.push(line)
          continue
        }
        mails.push({ from, to, data: data.join('\r\n'), isEncrypted, user })
        to = []
        data = null
        say('250 taken')
      } else if (/^EHLO/i.test(line)) {
        const offers = options.tls && !isEncrypted ? ['250-STARTTLS'] : []
        say('250-test', ...offers, '250-AUTH PLAIN', '250 8BITMIME')
      } else if (/^STARTTLS/i.test(line) && options.tls !== undefined) {
        say('220 go on')
        const secure = new tls.TLSSocket(socket, { isServer: true, ...options.tls })
        secure.on('error', () => {})
        return converse(secure, true)
      } else if (/^AUTH PLAIN /i.test(line)) {
        user = Buffer.from(line.slice(11), 'base64').toString().split('\0')[1] ?? null
        say('235 welcome')
      } else if (/^RCPT TO:/i.test(line)) {
        to.push(address)
        say(options.rcpt ?? '250 fine')
      } else if (/^DATA/i.test(line)) {
        data = []
        say('354 go on')
      } else if (/^QUIT/i.test(line)) {
        say('221 bye')
        socket.end()
      } else {
        if (/^MAIL FROM:/i.test(line)) [from, to] = [address, []]
        say('250 fine')
      }
    }
  }

  return {
    mails,
    port: await listening(server),
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
