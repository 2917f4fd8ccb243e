import { Button, Group, Stack, Text } from '@mantine/core'
import type { DomainProof } from '@prepaint/contract/api/proof.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { domainQuery, domainUrl, proofQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useRights } from '../../api/rights.ts'
import { CopyField } from '../../parts/copy-field.tsx'
import { notifyDone, notifyFailed } from '../../parts/notifications.tsx'
import { Note, Section } from '../../parts/page.tsx'
import { TimeText } from '../../parts/time-text.tsx'
import classes from './proof.module.css'

/** What proves that a name is the account's own, while that is asked for or lost, and a check. */
export default function ProofSection({ domain, proof }: { domain: string; proof: DomainProof }) {
  const { dns, file, meta } = proof.records
  return (
    <Section
      title={proof.state === 'lost' ? 'The proof of the name is gone' : 'Prove that the name is yours'}
      lead={<State domain={domain} proof={proof} />}
    >
      <Text size="sm">
        Do one of these three, then check. Once the name leads here, only the DNS record proves it.
      </Text>
      <ol className={classes.ways}>
        <li className={classes.way}>
          <Stack gap="xs">
            <Text size="sm" fw={600}>
              A DNS record of type TXT
            </Text>
            <CopyField label="Name" value={dns.name} />
            <CopyField label="Value" value={dns.value} />
          </Stack>
        </li>
        <li className={classes.way}>
          <Stack gap="xs">
            <Text size="sm" fw={600}>
              A file of the site that the name leads to now
            </Text>
            <CopyField label="Address" value={file.url} />
            <CopyField label="Content" value={file.content} />
          </Stack>
        </li>
        <li className={classes.way}>
          <Stack gap="xs">
            <Text size="sm" fw={600}>
              A tag in the head of its home page
            </Text>
            <CopyField label="Tag" value={meta.tag} />
          </Stack>
        </li>
      </ol>
      <Check domain={domain} proof={proof} />
    </Section>
  )
}

function State({ domain, proof: { state, served, deadline } }: { domain: string; proof: DomainProof }) {
  if (state === 'lost') {
    return 'It was missing twice, a day apart. The site is served on. Put the proof back, so that nobody else can claim the name.'
  }
  if (served && deadline !== null) {
    return (
      <>
        The site is served without a proof until <TimeText at={deadline} />. After that, crawlers and visitors
        get the answer for an unknown site.
      </>
    )
  }
  return (
    <>
      <b className="break">{domain}</b> is not served yet: crawlers and visitors get the answer for an unknown
      site.
    </>
  )
}

function Check({ domain, proof: { checked_at: at, error } }: { domain: string; proof: DomainProof }) {
  const queries = useQueryClient()
  const may = useRights()
  const check = useMutation({
    mutationFn: () =>
      request<{ proof: DomainProof }>('POST', `${domainUrl(domain)}/proof/check`, { body: {} }),
    onSuccess: async ({ proof }) => {
      queries.setQueryData(proofQuery(domain).queryKey, proof)
      if (proof.state !== 'proven') return
      notifyDone(`${domain} is proven. It is served.`)
      await queries.invalidateQueries({ queryKey: domainQuery(domain).queryKey })
      await queries.invalidateQueries({ queryKey: ['portfolio'] })
    },
    onError: (failed) => notifyFailed('The proof could not be checked', failed),
  })
  return (
    <Group gap="sm" align="start" className={classes.check}>
      {may('checkProof') && (
        <Button size="xs" variant="default" loading={check.isPending} onClick={() => check.mutate()}>
          Check now
        </Button>
      )}
      <Stack gap={2} flex={1} miw={200} role="status">
        {error !== null && (
          <Text size="sm" className="break">
            {error}
          </Text>
        )}
        <Note size="sm">
          {at === null ? 'Not checked yet.' : 'Checked '}
          {at !== null && <TimeText at={at} />}
        </Note>
      </Stack>
    </Group>
  )
}
