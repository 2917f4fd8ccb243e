import { Button, Group, Text, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { certificateQuery, domainQuery, domainUrl } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { Certificate, DomainWithSettings } from '../../api/types.ts'
import { ConfirmDialog, FormDialog } from '../../parts/dialog.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { Section } from '../../parts/page.tsx'
import { Trouble } from '../../parts/states.tsx'
import { TimeText } from '../../parts/time-text.tsx'

export function OwnCertificate({ domain: { custom_domain: name } }: { domain: DomainWithSettings }) {
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
          'If you upload a certificate, it is used until it expires, and none is ordered.'
        ) : (
          <>
            Issued by {own.issuer} for {own.names.join(', ')}; expires <TimeText at={own.not_after} />.
          </>
        )
      }
      actions={
        <Group gap="xs">
          <Button variant="default" onClick={() => setAsks('new')} disabled={found.data === undefined}>
            {own === null ? 'Upload' : 'Replace'}
          </Button>
          {own !== null && (
            <Button variant="outline" color="red" onClick={() => setAsks('remove')}>
              Remove
            </Button>
          )}
        </Group>
      }
    >
      {found.error !== null && found.data === undefined && <Trouble query={found} />}
      {asks === 'new' && <NewCertificate name={name} onClose={close} onDone={changed} />}
      {asks === 'remove' && (
        <ConfirmDialog
          title="Remove your certificate?"
          label="Remove"
          onClose={close}
          run={async () => {
            await request('DELETE', `${domainUrl(name)}/certificate`)
            notifyDone('Your certificate was removed')
            await changed()
          }}
        >
          <Text size="sm">
            HTTPS of {name} fails until there is another certificate. One is ordered automatically if the
            operator has configured a certificate authority and the DNS points here.
          </Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}

function chainProblem(text: string): string | null {
  if (/-----BEGIN [A-Z ]*CERTIFICATE-----/.test(text)) return null
  return 'Paste the PEM text, which begins with -----BEGIN CERTIFICATE-----'
}

function keyProblem(text: string): string | null {
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) return null
  return 'Paste the PEM text, which begins with -----BEGIN … PRIVATE KEY-----'
}

function NewCertificate(props: { name: string; onClose: () => void; onDone: () => Promise<void> }) {
  const { name, onClose } = props
  const form = useForm({
    initialValues: { chain: '', key: '' },
    validateInputOnBlur: true,
    validate: { chain: chainProblem, key: keyProblem },
  })
  const upload = useMutation({
    mutationFn: ({ chain, key }: typeof form.values) =>
      request<Certificate>('PUT', `${domainUrl(name)}/certificate`, {
        body: { certificate_chain: chain, private_key: key },
      }),
    onSuccess: async () => {
      notifyDone('Your certificate is in use')
      onClose()
      await props.onDone()
    },
    onError: (error) => {
      if (!(error instanceof ApiError)) return
      for (const { path, message } of error.problems) {
        form.setFieldError(path[0] === 'private_key' ? 'key' : 'chain', message)
      }
    },
  })
  const input = { rows: 6, spellCheck: false, required: true }
  return (
    <FormDialog
      title="Your own certificate"
      label="Upload"
      sent={upload}
      onSubmit={form.onSubmit((values) => upload.mutate(values))}
      onClose={onClose}
    >
      <Textarea
        label="Certificate chain (PEM)"
        description={`The certificate of ${name} first, then those that signed it`}
        data-autofocus
        {...input}
        {...form.getInputProps('chain')}
      />
      <Textarea
        label="Private key (PEM)"
        description="Without a passphrase. It is stored encrypted and never shown."
        autoComplete="off"
        {...input}
        {...form.getInputProps('key')}
      />
    </FormDialog>
  )
}
