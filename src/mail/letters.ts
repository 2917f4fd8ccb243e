import type { Mail } from './mailer.ts'

/** What people are sent. `url` holds a token and goes to nobody else; `endsAt` is ISO 8601 UTC. */
export type Letter = { kind: 'invitation' | 'reset'; to: string; url: string; endsAt: string }

const WORDS = {
  invitation: {
    subject: 'Your account at Prepaint',
    lines: ['You have been invited to Prepaint. Set a password to begin:'],
    button: 'Set a password',
    last: 'If you expected no invitation, do nothing: without you no account is made.',
  },
  reset: {
    subject: 'A new password for Prepaint',
    lines: ['Somebody, probably you, asked for a new password for your account at Prepaint:'],
    button: 'Set a new password',
    last: 'If it was not you, do nothing: your password stays as it is.',
  },
} as const

/** A letter as text and as HTML without anything from elsewhere. */
export function write({ kind, to, url, endsAt }: Letter): Mail {
  const { subject, lines, button, last } = WORDS[kind]
  const ends = `The link works once, until ${endsAt.slice(0, 16).replace('T', ' ')} UTC.`
  const text = [...lines, '', url, '', ends, last, ''].join('\n')
  const paragraphs = lines.map((line) => `<p>${escaped(line)}</p>`).join('\n')
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escaped(subject)}</title></head>
<body style="font:16px/1.5 sans-serif;color:#17211f;max-width:34em;margin:2em auto;padding:0 1em">
${paragraphs}
<p><a href="${escaped(url)}" style="background:#0f6d5e;border-radius:6px;color:#fff;display:inline-block;padding:10px 18px;text-decoration:none">${escaped(button)}</a></p>
<p style="font-size:14px;color:#56625f">Or copy this address: ${escaped(url)}</p>
<p style="font-size:14px;color:#56625f">${escaped(ends)} ${escaped(last)}</p>
</body></html>
`
  return { to, subject, text, html }
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
