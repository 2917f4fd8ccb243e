import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { dnsQuery } from '../../api/queries.ts'
import { CopyField } from '../../parts/copy-field.tsx'
import { recordsFor } from './dns-records.ts'
import { DnsState } from './dns-state.tsx'

/** What to set so that visitors of `domain` come here, and whether they do. */
export function DnsInstructions({ domain }: { domain: string }) {
  const { data } = useQuery(dnsQuery(domain))
  const target = data?.target ?? null
  const { records, note } = recordsFor(domain, target, location.hostname)
  const edge = target?.host ?? target?.addresses[0] ?? location.hostname
  const isHere = data?.state === 'reaches-us'
  return (
    <Stack gap="sm">
      <DnsState domain={domain} />
      {!isHere && (
        <>
          <Text size="sm">
            Where the DNS of <b className="break">{domain}</b> is kept, set{' '}
            {records.length > 1 ? 'these records' : 'this record'}, and remove other A, AAAA and CNAME records
            of the same name. Until then visitors still go to the old place, and nothing changes for them.
          </Text>
          {records.map(({ type, value }) => (
            <CopyField
              key={value}
              label={records.length > 1 ? `DNS record ${type}` : 'DNS record'}
              value={`${domain}.  300  ${type}  ${value}`}
            />
          ))}
          {note !== null && (
            <Text size="sm" className="quiet">
              {note}
            </Text>
          )}
          <CopyField
            label="Try it before, as a crawler"
            value={`curl -sI -A Googlebot --connect-to ${domain}:80:${edge}:80 http://${domain}/`}
          />
        </>
      )}
    </Stack>
  )
}
