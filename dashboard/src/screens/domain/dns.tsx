import { Button, Group, Stack, Text } from '@mantine/core'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { dnsQuery } from '../../api/queries.ts'
import { messageOf } from '../../api/request.ts'
import type { Dns } from '../../api/types.ts'
import { DnsBadge } from '../../parts/badges.tsx'
import { CopyField } from '../../parts/copy-field.tsx'
import { Note } from '../../parts/page.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import { crawlerCommand, dnsText, recordsFor } from './dns-records.ts'

/** Where the domain points, and the records that point it here; with a command that asks for it as a crawler. */
export function DnsInstructions({ domain, hasCommand = true }: { domain: string; hasCommand?: boolean }) {
  const dns = useQuery(dnsQuery(domain))
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="sm" align="start">
        <Stack gap={4} flex={1} miw={200}>
          <Group gap={6}>
            <DnsBadge domain={domain} />
            {dns.data !== undefined && (
              <Note>
                <TimeText at={dns.data.checked_at} />
              </Note>
            )}
          </Group>
          <Text size="sm" className="break" role="status" mih="1.5em">
            {checkText(dns)}
          </Text>
        </Stack>
        <Button size="xs" variant="default" loading={dns.isFetching} onClick={() => dns.refetch()}>
          Check again
        </Button>
      </Group>
      {dns.data?.state !== 'reaches-us' && <Records domain={domain} dns={dns.data} hasCommand={hasCommand} />}
    </Stack>
  )
}

/** Is empty until the first check has ended. */
function checkText({ data, error }: UseQueryResult<Dns>): string {
  if (data !== undefined) return dnsText(data)
  return error === null ? '' : messageOf(error)
}

function Records(props: { domain: string; dns: Dns | undefined; hasCommand: boolean }) {
  const { domain, dns, hasCommand } = props
  const { records, note } = recordsFor(domain, dns?.target ?? null, location.hostname)
  return (
    <>
      <Text size="sm">
        At the DNS provider of <b className="whole">{domain}</b>, set{' '}
        {records.length > 1 ? 'these records' : 'this record'} and remove other A, AAAA and CNAME records of
        the same name. Until then nothing changes for visitors.
      </Text>
      {records.map(({ type, value }) => (
        <CopyField
          key={value}
          label={records.length > 1 ? `DNS record ${type}` : 'DNS record'}
          value={`${domain}.  300  ${type}  ${value}`}
        />
      ))}
      {note !== null && <Note size="sm">{note}</Note>}
      {hasCommand && (
        <CopyField
          label="Try it first, as a crawler"
          value={crawlerCommand(domain, dns, location.hostname)}
        />
      )}
    </>
  )
}
