import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate } from "react-router";
import type { Me } from "../api/documents.ts";
import { http } from "../api/http.ts";
import { meQuery } from "../api/queries.ts";
import { ProblemNote } from "../layout/ProblemNote.tsx";
import { useTitle } from "../layout/use_title.ts";

/**
 * Signs in with the link that the server printed.
 *
 * The secret stands behind the `#`, which browsers send to nobody; it is taken out of the address.
 */
export function SignIn() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const client = useQueryClient();
  useTitle(t("signIn.title"));
  const [link] = useState(secretOf);
  const { mutate, isPending, error } = useMutation({
    mutationFn: (secret: string) => http.post<Me>("/session", { link: secret }),
    onSuccess: (me) => {
      http.csrf = me.csrf;
      client.setQueryData(meQuery.queryKey, me);
      void navigate("/", { replace: true });
    },
  });
  useEffect(() => {
    if (link === "") return;
    window.history.replaceState(null, "", window.location.pathname);
    mutate(link);
  }, [link, mutate]);
  return (
    <main className="sign-in">
      <h1>Alfred</h1>
      <p>{isPending ? t("signIn.working") : t("signIn.how")}</p>
      <ProblemNote error={error} />
      {error && <p>{t("signIn.again")}</p>}
    </main>
  );
}

function secretOf(): string {
  const given = window.location.hash.slice(1);
  return new URLSearchParams(given).get("link") ?? given;
}
