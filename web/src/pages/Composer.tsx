import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SyntheticEvent, useId, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { http } from "../api/http.ts";
import { useWords } from "../i18n/use_words.ts";
import { useDraft } from "../layout/drafts.ts";
import { ProblemNote } from "../layout/ProblemNote.tsx";

interface Sent {
  text: string;
  file: File | null;
  domain: string;
}

/** Takes a text, a link or a file; what was typed stays there until the server has stored it. */
export function Composer({ domains }: { domains: readonly string[] }) {
  const { t } = useTranslation();
  const words = useWords();
  const client = useQueryClient();
  const id = useId();
  const [text, setText] = useDraft("message");
  const [about, setAbout] = useState<Omit<Sent, "text">>({ file: null, domain: "" });
  const sent: Sent = { text, ...about };
  const key = useRef(crypto.randomUUID());
  const box = useRef<HTMLTextAreaElement>(null);
  const post = useMutation({
    // Sent twice with one key, a message is stored once.
    mutationFn: () => http.post<unknown>("/messages", bodyOf(sent), key.current),
    onSuccess: () => {
      key.current = crypto.randomUUID();
      setText("");
      setAbout({ ...about, file: null });
      box.current?.focus();
      return client.invalidateQueries({ queryKey: ["turns"] });
    },
  });
  const isEmpty = sent.text.trim() === "" && sent.file === null;
  const change = (changed: Partial<typeof about>) => {
    key.current = crypto.randomUUID();
    setAbout({ ...about, ...changed });
  };
  const submit = (event?: SyntheticEvent) => {
    event?.preventDefault();
    if (!isEmpty && !post.isPending) post.mutate();
  };
  return (
    <form className="composer" onSubmit={submit}>
      <label htmlFor={`${id}-text`} className="hidden">
        {t("conversation.placeholder")}
      </label>
      <textarea
        id={`${id}-text`}
        ref={box}
        rows={5}
        placeholder={t("conversation.placeholder")}
        value={sent.text}
        disabled={sent.file !== null}
        onChange={(event) => {
          change({});
          setText(event.target.value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
        }}
      />
      <div className="row">
        <button type="submit" className="primary" disabled={isEmpty || post.isPending}>
          {t("conversation.send")}
        </button>
        <label className="button" htmlFor={`${id}-file`}>
          {sent.file?.name ?? t("conversation.file")}
        </label>
        <input
          id={`${id}-file`}
          className="hidden"
          type="file"
          onChange={(event) => {
            change({ file: event.target.files?.[0] ?? null });
            event.target.value = ""; // so that the same file can be chosen again
          }}
        />
        {sent.file && (
          <button
            type="button"
            onClick={() => {
              change({ file: null });
            }}
          >
            {t("conversation.removeFile")}
          </button>
        )}
        <label>
          {t("conversation.domain")}{" "}
          <select
            value={sent.domain}
            onChange={(event) => {
              change({ domain: event.target.value });
            }}
          >
            <option value="">{t("conversation.anyDomain")}</option>
            {domains.map((domain) => (
              <option key={domain} value={domain}>
                {words.domain(domain)}
              </option>
            ))}
          </select>
        </label>
        <span className="quiet small wide-only">{t("conversation.sendHint")}</span>
      </div>
      <ProblemNote error={post.error} />
    </form>
  );
}

function bodyOf({ text, file, domain }: Sent): FormData | Record<string, string> {
  const about: Record<string, string> = domain === "" ? {} : { domain };
  if (!file) return { text, ...about };
  const form = new FormData();
  form.set("file", file);
  for (const [name, value] of Object.entries(about)) form.set(name, value);
  return form;
}
