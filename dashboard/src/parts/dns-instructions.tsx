import { Stack, Text } from '@mantine/core'

import { CopyField } from './copy-field.tsx'

/** The record that leads `domain` to `edge`, and what to know about it. */
function recordFor(domain: string, edge: string): { record: string; note: string } {
  const line = (type: string, value: string) => `${domain}.  300  ${type}  ${value}`
  if (edge === 'localhost' || edge.startsWith('127.') || edge === '[::1]') {
    return {
      record: line('A', '<address of this machine>'),
      note: 'You see this on the machine itself: visitors need the address by which others reach it.',
    }
  }
  const address = /^[\d.]+$/.test(edge) ? 'A' : edge.startsWith('[') ? 'AAAA' : null
  const elsewhere =
    'This is the address by which you reach the dashboard; where the edge has another, your operator knows it.'
  if (address !== null) return { record: line(address, edge.replace(/[[\]]/g, '')), note: elsewhere }
  if (domain.split('.').length === 2) {
    return {
      record: line('ALIAS', `${edge}.`),
      note: 'A name without www cannot have a CNAME. Where there is no ALIAS or ANAME, set A and AAAA records with the addresses of this installation.',
    }
  }
  return { record: line('CNAME', `${edge}.`), note: elsewhere }
}

/** What to set so that visitors of `domain` come here. */
export function DnsInstructions({ domain }: { domain: string }) {
  const edge = location.hostname
  const { record, note } = recordFor(domain, edge)
  return (
    <Stack gap="sm">
      <Text size="sm">
        Where the DNS of <b className="break">{domain}</b> is kept, set this record, and remove other A, AAAA
        and CNAME records of the same name. Until then visitors still go to the old place, and nothing changes
        for them.
      </Text>
      <CopyField label="DNS record" value={record} />
      <Text size="sm" className="quiet">
        {note}
      </Text>
      <CopyField
        label="Try it before, as a crawler"
        value={`curl -sI -A Googlebot --connect-to ${domain}:80:${edge}:80 http://${domain}/`}
      />
    </Stack>
  )
}
