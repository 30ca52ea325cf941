;;; eglot.el --- Emacs with eglot: pushed diagnostics, positions in UTF-16, a fix  -*- lexical-binding: t -*-

;; Run with `emacs --batch -l eglot.el` in the project folder.

(require 'package)
(package-initialize)
(require 'eglot)
(require 'flymake)
(require 'cl-lib)

(setq eglot-autoshutdown nil
      eglot-confirm-server-initiated-edits nil
      eglot-sync-connect 60
      eglot-send-changes-idle-time 0
      python-indent-guess-indent-offset nil)
(setf (alist-get 'python-mode eglot-server-programs) (list (getenv "AG_LSP") "server"))

(defun wait-for (what question)
  "Wait until QUESTION returns non-nil, and return its answer. The error on timeout contains WHAT."
  (let ((end (time-add nil 60)) answer)
    (while (not (or (setq answer (funcall question)) (time-less-p end nil)))
      (accept-process-output nil 0.02))
    (or answer (error "Waited in vain for %s" what))))

(defun finding (code)
  "The diagnostic of the rule CODE, if it is there."
  (cl-find-if (lambda (diagnostic) (string-match-p code (flymake-diagnostic-text diagnostic)))
              (flymake-diagnostics)))

(defun found-text (diagnostic)
  "The text that DIAGNOSTIC underlines."
  (buffer-substring-no-properties (flymake-diagnostic-beg diagnostic) (flymake-diagnostic-end diagnostic)))

(defun expect (what expected actual)
  "Fail, naming WHAT, unless ACTUAL is EXPECTED."
  (unless (equal expected actual)
    (error "%s: expected %S, got %S" what expected actual)))

;; Characters outside the Basic Multilingual Plane count as two in UTF-16 and as four in UTF-8.
(with-temp-buffer
  (insert-file-contents "model.py")
  (search-forward "    if not tf.math.count_nonzero(values):")
  (replace-match "    name = \"𝛼𝛽𝛾\"; empty = not tf.math.count_nonzero(values)\n    if empty:" t t)
  (let ((coding-system-for-write 'utf-8)) (write-region nil nil "model.py")))

(find-file "model.py")
(apply #'eglot (eglot--guess-contact))
(flymake-mode 1)
(flymake-start)

(let ((found (wait-for "AG109" (lambda () (finding "AG109")))))
  (expect "the text after the letters" "not tf.math.count_nonzero(values)" (found-text found))
  (expect "the severity" 'eglot-error (flymake-diagnostic-type found)))
(wait-for "AG101" (lambda () (finding "AG101")))

;; An incremental change in UTF-16 after such characters.
(goto-char (point-min))
(search-forward "𝛾\"; ")
(insert "again = 2; ")
(eglot--signal-textDocument/didChange)
(wait-for "the finding to move"
          (lambda () (let ((found (finding "AG109")))
                       (and found
                            (string= "not tf.math.count_nonzero(values)" (found-text found))
                            (save-excursion
                              (goto-char (flymake-diagnostic-beg found))
                              (looking-back "again = 2; empty = " (line-beginning-position)))))))

;; Apply the fix of the finding.
(goto-char (flymake-diagnostic-beg (finding "AG109")))
(let* ((actions (eglot-code-actions (point) (point) "quickfix"))
       (repair (cl-find-if (lambda (action) (string-match-p "== 0" (plist-get action :title))) actions)))
  (unless repair (error "No repair among %S" actions))
  (let ((resolved (if (plist-get repair :edit) repair
                    (jsonrpc-request (eglot--current-server-or-lose) :codeAction/resolve repair))))
    (eglot--apply-workspace-edit (plist-get resolved :edit))))
(goto-char (point-min))
(search-forward "empty = tf.math.count_nonzero(values) == 0")
(eglot--signal-textDocument/didChange)
(wait-for "the finding to go" (lambda () (null (finding "AG109"))))

(eglot-shutdown (eglot--current-server-or-lose) nil 60)
(message "all is well")
