import { Button, Group, Stack, Text, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { certificateQuery, domainQuery, domainUrl } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { Certificate } from '../../api/types.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { sayDone } from '../../parts/notifications.tsx'
import { Section } from '../../parts/page.tsx'
import { Refusal, Trouble } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'

/** The owner's own certificate: given, replaced, taken back. Its key is never shown again. */
export function OwnCertificate({ name }: { name: string }) {
  const queries = useQueryClient()
  const found = useQuery(certificateQuery(name))
  const [asks, setAsks] = useState<'nothing' | 'new' | 'remove'>('nothing')
  const close = () => setAsks('nothing')
  const own = found.data?.certificate?.source === 'own' ? found.data.certificate : null
  const changed = () => queries.invalidateQueries({ queryKey: domainQuery(name).queryKey })
  return (
    <Section
      title="Own certificate"
      lead={
        own === null ? (
          'Where you bring one of your own, it is served until its end, and none is ordered.'
        ) : (
          <>
            By {own.issuer}, for {own.names.join(', ')}; ends <TimeText at={own.not_after} />.
          </>
        )
      }
      actions={
        <Group gap="xs">
          <Button variant="default" onClick={() => setAsks('new')} disabled={found.data === undefined}>
            {own === null ? 'Give one' : 'Replace'}
          </Button>
          {own !== null && (
            <Button variant="outline" color="red" onClick={() => setAsks('remove')}>
              Take it back
            </Button>
          )}
        </Group>
      }
    >
      {found.error !== null && found.data === undefined && (
        <Trouble error={found.error} onRetry={() => found.refetch()} />
      )}
      {asks === 'new' && <NewCertificate name={name} onClose={close} onDone={changed} />}
      {asks === 'remove' && (
        <ConfirmDialog
          title="Take your certificate back?"
          label="Take it back"
          onClose={close}
          run={async () => {
            await request('DELETE', `${domainUrl(name)}/certificate`)
            sayDone('Your certificate is out of use')
            await changed()
          }}
        >
          <Text size="sm">
            From now on https of {name} fails until another one is there: it is ordered by itself where the
            operator has named a CA and the DNS leads here.
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}

function NewCertificate({
  name,
  onClose,
  onDone,
}: {
  name: string
  onClose: () => void
  onDone: () => Promise<void>
}) {
  const pem = (what: string) => (text: string) =>
    new RegExp(`-----BEGIN [A-Z ]*${what}-----`).test(text)
      ? null
      : `Begins with -----BEGIN ${what === 'CERTIFICATE' ? '' : '… '}${what}-----`
  const form = useForm({
    initialValues: { chain: '', key: '' },
    validateInputOnBlur: true,
    validate: { chain: pem('CERTIFICATE'), key: pem('PRIVATE KEY') },
  })
  const give = useMutation({
    mutationFn: ({ chain, key }: typeof form.values) =>
      request<Certificate>('PUT', `${domainUrl(name)}/certificate`, {
        body: { certificate_chain: chain, private_key: key },
      }),
    onSuccess: async () => {
      sayDone('Your certificate is in use')
      onClose()
      await onDone()
    },
    onError: (error) => {
      const [, field, problem] = /^(certificate_chain|private_key) (.*)$/.exec(error.message) ?? []
      if (problem !== undefined) form.setFieldError(field === 'private_key' ? 'key' : 'chain', problem)
    },
  })
  return (
    <Dialog title="Your own certificate" onClose={onClose}>
      <form noValidate onSubmit={form.onSubmit((values) => give.mutate(values))}>
        <Stack>
          <Textarea
            label="Certificate chain (PEM)"
            description={`That of ${name} first, then those that sign it`}
            rows={6}
            spellCheck={false}
            required
            data-autofocus
            {...form.getInputProps('chain')}
          />
          <Textarea
            label="Private key (PEM)"
            description="Without a passphrase. It is kept encrypted, and never shown"
            rows={6}
            spellCheck={false}
            autoComplete="off"
            required
            {...form.getInputProps('key')}
          />
          <Refusal error={give.error} />
          <Group justify="end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={give.isPending}>
              Use it
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
