import { Stack, Text } from '@mantine/core'

import { CopyField } from './copy-field.tsx'

/** What to set so that visitors of `domain` come here. */
export function DnsInstructions({ domain }: { domain: string }) {
  const edge = location.hostname
  const isApex = domain.split('.').length === 2
  return (
    <Stack gap="sm">
      <Text size="sm">
        Where the DNS of <b className="break">{domain}</b> is kept, set this record, and remove other A, AAAA
        and CNAME records of the same name. Until then visitors still go to the old place, and nothing changes
        for them.
      </Text>
      <CopyField
        label="DNS record"
        value={isApex ? `${domain}.  300  ALIAS  ${edge}.` : `${domain}.  300  CNAME  ${edge}.`}
      />
      <Text size="sm" className="quiet">
        {isApex
          ? 'A domain without www cannot have a CNAME. If your DNS has neither ALIAS nor ANAME, set A and AAAA records with the addresses of this installation.'
          : 'The address of this installation is the one by which you reach the dashboard; where the edge has another name, your operator knows it.'}
      </Text>
      <CopyField
        label="Try it before, as a crawler"
        value={`curl -sI -A Googlebot --connect-to ${domain}:80:${edge}:80 http://${domain}/`}
      />
    </Stack>
  )
}
