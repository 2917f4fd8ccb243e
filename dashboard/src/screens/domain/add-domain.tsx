import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'

import { domainsQuery } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { Domain } from '../../api/types.ts'
import { Dialog, FormDialog } from '../../parts/dialog.tsx'
import { domainPath } from '../../route-map.ts'
import { DnsInstructions } from './dns.tsx'
import { domainProblem, originProblem, useDomainCheck } from './domain-fields.ts'

type Values = { name: string; origin: string }

export default function AddDomain({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const form = useForm<Values>({
    initialValues: { name: '', origin: '' },
    validateInputOnBlur: true,
    validate: {
      name: domainProblem,
      origin: (origin, { name }) => originProblem(origin, name),
    },
  })
  const add = useMutation({
    mutationFn: ({ name, origin }: Values) =>
      request<{ domain: Domain }>('POST', '/api/domains', {
        body: { custom_domain: name.trim(), origin_url: origin.trim() },
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: domainsQuery.queryKey }),
  })

  if (add.data !== undefined) {
    const { custom_domain: name } = add.data.domain
    return (
      <Dialog title={`${name} was added`} onClose={onClose}>
        <Stack>
          <DnsInstructions domain={name} />
          <Group justify="end">
            <Button onClick={() => navigate(domainPath('domain', name))} data-autofocus>
              Go to the domain
            </Button>
          </Group>
        </Stack>
      </Dialog>
    )
  }
  return (
    <FormDialog
      title="Add a domain"
      label="Add the domain"
      sent={add}
      onSubmit={form.onSubmit((values) => add.mutate(values))}
      onClose={onClose}
    >
      <Fields form={form} />
    </FormDialog>
  )
}

function Fields({ form }: { form: UseFormReturnType<Values> }) {
  const { name, origin } = form.values
  const nameCheck = useDomainCheck('custom_domain', name, domainProblem(name) === null)
  const originCheck = useDomainCheck('origin_url', origin, originProblem(origin, name) === null)
  const input = { autoComplete: 'off', autoCapitalize: 'off', spellCheck: false, required: true }
  return (
    <>
      <TextInput
        label="Domain"
        description="The name that visitors use"
        placeholder="www.example.com"
        data-autofocus
        {...input}
        {...form.getInputProps('name')}
      />
      <CheckResult {...nameCheck} />
      <TextInput
        label="Origin"
        description="The URL of the server of your site, under a name that will not change"
        placeholder="https://shop.hosting.example"
        {...input}
        {...form.getInputProps('origin')}
      />
      <CheckResult {...originCheck} />
    </>
  )
}

/** Always one line high, so that nothing moves. */
function CheckResult({ isChecking, finding }: ReturnType<typeof useDomainCheck>) {
  return (
    <Text
      size="xs"
      role="status"
      mih="1.25rem"
      mt={-8}
      className={finding?.isGood === false ? 'warning' : 'quiet'}
    >
      {isChecking ? 'Checking …' : (finding?.text ?? '')}
    </Text>
  )
}
