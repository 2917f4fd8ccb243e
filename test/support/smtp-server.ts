import net from 'node:net'
import tls from 'node:tls'
import { listening } from './loopback.ts'

// An SMTP server on loopback that keeps received mail (RFC 5321, RFC 3207, as far as a client needs it).

export type TestMail = { from: string; to: string[]; data: string; isEncrypted: boolean; user: string | null }

export type TestSmtpOptions = {
  tls?: { key: string; cert: string }
  rcpt?: string
  silent?: boolean
}

export async function startTestSmtp(options: TestSmtpOptions = {}) {
  const mails: TestMail[] = []
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    if (options.silent === true) return
    socket.write('220 test ESMTP\r\n')
    converse(socket, false)
  })

  function converse(socket: net.Socket, isEncrypted: boolean): void {
    let mail: TestMail = { from: '', to: [], data: '', isEncrypted, user: null }
    let user: string | null = null
    let rest = ''
    let isData = false
    const say = (line: string) => socket.write(`${line}\r\n`)
    const take = (part: Buffer) => {
      rest += part.toString('utf8')
      for (;;) {
        if (isData) {
          const end = rest.indexOf('\r\n.\r\n')
          if (end < 0) return
          mails.push({ ...mail, data: rest.slice(0, end), user })
          rest = rest.slice(end + 5)
          isData = false
          mail = { from: '', to: [], data: '', isEncrypted, user }
          say('250 taken')
          continue
        }
        const end = rest.indexOf('\r\n')
        if (end < 0) return
        const line = rest.slice(0, end)
        rest = rest.slice(end + 2)
        if (/^EHLO/i.test(line)) {
          const offers = ['250-test', ...(options.tls && !isEncrypted ? ['250-STARTTLS'] : [])]
          for (const offer of [...offers, '250-AUTH PLAIN', '250 8BITMIME']) say(offer)
        } else if (/^STARTTLS/i.test(line) && options.tls !== undefined) {
          socket.off('data', take)
          say('220 go on')
          const secure = new tls.TLSSocket(socket, { isServer: true, ...options.tls })
          secure.on('error', () => {})
          return converse(secure, true)
        } else if (/^AUTH PLAIN /i.test(line)) {
          user = Buffer.from(line.slice(11), 'base64').toString().split('\0')[1] ?? null
          say('235 welcome')
        } else if (/^MAIL FROM:/i.test(line)) {
          mail.from = /<(.*)>/.exec(line)?.[1] ?? ''
          say('250 fine')
        } else if (/^RCPT TO:/i.test(line)) {
          mail.to.push(/<(.*)>/.exec(line)?.[1] ?? '')
          say(options.rcpt ?? '250 fine')
        } else if (/^DATA/i.test(line)) {
          isData = true
          say('354 go on')
        } else if (/^QUIT/i.test(line)) {
          say('221 bye')
          return void socket.end()
        } else say('250 fine')
      }
    }
    socket.on('data', take)
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
